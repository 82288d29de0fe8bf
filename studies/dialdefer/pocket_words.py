"""Word lists for pocket, written for this project. Each field holds the train split's words and the test split's.

No entry stands in both splits, in the same field or in another (test_pocket.py checks all of them).
Changing any list changes the items: raise SCHEMA_VERSION in studies/dialdefer/pocket.py with it.
"""

from typing import NamedTuple


class Words(NamedTuple):
    """One field's words, partitioned between the splits."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    def of(self, split: str) -> tuple[str, ...]:
        """The words of "train" or "test"."""
        return {"train": self.train, "test": self.test}[split]


def _words(train: str, test: str) -> Words:
    """Words from two comma-separated lists; line breaks are spaces."""
    return Words(*(tuple(" ".join(entry.split()) for entry in text.split(",")) for text in (train, test)))


NAMES = _words(
    """Anna, Ben, Carla, David, Emma, Frank, Grace, Henry, Ivan, Julia, Kevin, Laura, Martin, Nina, Oscar,
    Paula, Robert, Sarah, Thomas, Vera, Walter, Alice, Brian, Clara, Daniel, Ella, George, Hannah, Jacob, Karen, Lucas,
    Maria""",
    "Peter, Rosa, Simon, Tina, Victor, Wendy, Adam, Bella, Colin, Diana, Edward, Fiona",
)
OBJECTS = _words(
    """lamp, book, clock, kite, torch, ball, camera, notebook, umbrella, blanket, candle, bottle, basket, mirror,
    pencil, hammer, comb, glove, pillow, radio, ring, coin, key, map, spanner, vase, wallet, whistle, apple, album,
    envelope, eraser, scarf, hat, knife, plate, spoon, brush, rope, shell""",
    """flute, cup, stamp, towel, ticket, onion, helmet, compass, button, purse, kettle, broom, ruler, egg, magnet,
    puzzle""",
)
COLOURS = _words("red, blue, yellow, black, brown, pink, grey, gold", "green, white, purple, silver")
SPOTS = _words(
    """in the drawer, under the bed, on the shelf, behind the door, in the cupboard, on the desk, in the box,
    under the chair, on the windowsill, in the bag, beside the stove, behind the curtain, on the sofa, in the garage,
    under the stairs, in the suitcase""",
    """on the piano, in the wardrobe, under the rug, behind the fridge, in the cellar, beside the fireplace,
    on the bench, in the trunk""",
)
ACTIONS = _words(
    """washed the car, fed the ducks, painted the fence, baked bread, wrote a letter, cleaned the kitchen,
    watered the plants, fixed the bike, called the doctor, cut the grass, walked the dog, read the newspaper,
    swept the floor, played cards, sold the table, packed the bags, picked cherries, made a cake,
    locked the gate, repaired the roof""",
    """roasted nuts, ironed the shirts, planted a tree, visited the dentist, milked the cow, folded the laundry,
    polished the shoes, practised yoga, chopped wood, built a sandcastle""",
)
SHOPS = _words(
    """bakery, bank, toy shop, library, post office, butcher, museum, cinema, pharmacy, flower shop, swimming pool,
    barber""",
    "zoo, gym, theatre, shoe shop, tailor, gallery",
)
DAYS = _words("Monday, Tuesday, Wednesday, Thursday", "Friday, Saturday, Sunday")
ANIMALS = _words(
    "fox, goat, cat, horse, rabbit, hen, pig, sheep, mouse, owl, donkey, goose, turtle, snake, bear, otter",
    "frog, wolf, badger, squirrel, parrot, hedgehog, lizard, pony",
)
HOMES = _words(
    """barn, shed, cave, stable, meadow, attic, tower, hollow tree, old mill, greenhouse, haystack, orchard""",
    "tunnel, boathouse, swamp, ruined castle, chapel, quarry",
)
FOODS = _words(
    """soup, pasta, salad, coffee, lemonade, a sandwich, a pancake, cheese, rice, a burger, toast, cocoa, pizza,
    a muffin, fish, ice cream, an omelette, porridge, a waffle, fruit juice""",
    "tea, a pie, noodles, milk, a salmon roll, a cookie, curry, yoghurt, a sausage, mushrooms",
)
PLACES = _words(
    """park, school, station, market, beach, harbour, office, hotel, farm, village hall, bus stop, lake, airport,
    town square""",
    "bridge, hospital, campsite, playground, church, factory",
)
GAMES = _words(
    "chess, tennis, darts, football, cricket, golf, volleyball, boxing",
    "hockey, bowling, badminton, snooker",
)
