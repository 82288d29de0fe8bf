"""Labels by people: a page to make them, and how well a judge agrees with them."""
