"""Scenarios of `pocket-conflicts` about images and formatting. Every page is invented; pocket_scenarios.py reads this.

= page | topic     ? an opening     + a reason for the change     - a reason against it     ~ a bystander's remark
"""

IMAGES_TRAIN = """
= Greywater Lighthouse | the lead photo
? I would like to swap the lead photo for the aerial one. The current picture mostly shows a car park.
? Could we use the aerial photo at the top? The old one hides half of the tower behind parked vans.
+ In the aerial view you can see the tower, the keeper's house and the pier at once.
+ The old photo was taken in fog and is barely six hundred pixels wide.
+ Other lighthouse articles open with a view of the whole site.
- The aerial photo makes the tower look tiny, and the tower is the subject.
- The present photo shows the red bands, which the text describes in detail.
- We agreed on the present photo two years ago after a long discussion.
~ Why not keep the old photo and put the aerial one in the section about the site?
~ Is there a third photo from the seaward side? The local archive may have one.

= Bramble Pie | the photo of the slice
? I propose a photo of a whole pie for the top. A single slice on a paper plate looks careless.
? Can we replace the slice photo? It is dark, and you cannot see the crust at all.
+ The whole pie shows the lattice crust that the first paragraph talks about.
+ The slice photo has a brand name on the plate, which we should avoid.
+ A brighter picture would also work better on phones.
- The slice shows the filling, and the filling is what makes this pie different.
- The photo of the whole pie could be any fruit pie; nothing in it says bramble.
- The cookbook we cite prints a slice too, for the same reason.
~ Both pictures could go in a small gallery near the recipe.
~ A cropped version of the slice without the plate might please everybody.

= Ostrava Street Tram | the route map
? I suggest replacing the route map with the new vector one. The old one still shows the closed branch.
? The route map is out of date. I have drawn a new one and would like to add it.
+ The closed branch has been gone since spring, so the old map is simply wrong.
+ The new map can be enlarged without turning into a blur.
+ All stop names on the new map were checked against the printed timetable.
- The new map uses red and green lines that many readers cannot tell apart.
- The old map has street names, and the new one has none.
- A map drawn by one of us needs a source, and I see none.
~ Could the colours be changed first? After that I would have no objection.
~ The transport office publishes its own map; maybe we should just link to that.

= Tall Ship Merrow | the painting in the infobox
? I would like a photograph of the ship in the infobox. The painting is romantic, but it is not accurate.
? Can we move the painting further down and open with the harbour photograph?
+ The painter never saw the ship and gave her three masts too many.
+ A photograph from her last voyage is free to use and sharp.
+ Readers come to find out what she looked like, not how someone dreamed of her.
- The photograph shows her as a rusting hulk without sails.
- The painting is how most people know this ship; it is on every book cover.
- The caption already says that the painting is a later work.
~ The infobox could hold the photograph and the history section the painting.
~ Does anybody know when the photograph was taken? The archive gives two dates.

= Common Marsh Beetle | the drawing of the larva
? I propose to delete the drawing of the larva. It was made from memory and the legs are wrong.
? The larva drawing should go. It has been unsourced for years.
+ The field guide shows six pairs of spots, and the drawing has four.
+ Without a source the drawing is somebody's own research.
+ A wrong picture does more harm than an empty space.
- It is the only picture of the larva that we have.
- The differences are within what one finds in real larvae.
- A museum label uses the same drawing, so someone checked it.
~ We could ask at the insect project for a photo before deleting anything.
~ Perhaps a note in the caption that the spots vary would be enough.

= Halvorsen Bridge | the night photo
? Could we drop the night photo? It shows lights and water and almost no bridge.
? I want to replace the night photo at the top with one taken by day.
+ At night nobody can make out the arches, which are the whole point.
+ The daylight photo won a prize and has a clear licence.
+ The night photo has a tilted horizon.
- The bridge is famous for its lights, and the night photo shows them.
- The daylight photo is full of scaffolding.
- The night photo has been stable for six years without a single complaint.
~ The section on the lighting would be a good home for the night photo.
~ How about waiting until the scaffolding is gone and taking a new one?

= Selka Board Game | the photo of the box
? I suggest we show the board in the infobox in place of the box.
? The photo of the box should be replaced by one of the board during play.
+ The box is a copyrighted design, and our reason for using it is weak.
+ A photo of the board helps readers follow the rules section.
+ The box changed with every edition, the board never did.
- People recognise the box in a shop; nobody recognises that photo of the board.
- The board photo shows a home-made set with buttons for pieces.
- Nearly every article on a board game shows the box first.
~ The guideline on game articles allows either, so it comes down to taste.
~ If someone owns an original set, a new photo would settle it.
"""

IMAGES_TEST = """
= Kestrel Valley Railway | the engine photo
? I would like a photo of the engine in steam at the top. The present one shows it in a shed.
? Can the shed photo be replaced? The engine is half hidden by a ladder.
+ The railway is known for running, not for standing in a shed.
+ In the new photo both the engine and the first carriage can be seen.
+ The ladder in the old photo covers the number plate.
- The new photo is overexposed, and the wheels are lost in the steam.
- The shed is itself a listed building and belongs in the picture.
- The photographer of the new picture also runs the souvenir shop.
~ Could somebody darken the new photo a little before we decide?
~ A row of two small photos would fit into the infobox.

= Winter Cabbage Soup | the photo with the spoon
? I propose to remove the photo with the spoon. The soup in it is plainly bean soup.
? The spoon photo should go; there is not one leaf of cabbage in that bowl.
+ You can count the beans in it, and the recipe has none.
+ The uploader's own description calls it a stew.
+ We have two other photos in which the cabbage can be seen.
- In the north beans are added, and the text says so.
- It is the only photo that shows the dish as it is served at home.
- The other two photos were taken from a restaurant's advertising.
~ Maybe the caption could name the northern variety.
~ I could cook it on Sunday and take a picture, if that helps.

= Observatory Hill Park | the panorama
? Could we shorten the panorama? On my phone it takes up three screens.
? I suggest replacing the huge panorama by a normal photo of the hill.
+ Readers must scroll past it before they reach a single sentence.
+ Two thirds of the panorama show the motorway and not the park.
+ A normal photo would load in a fraction of the time.
- The view from the hill is why people go there.
- The panorama is collapsed on phones if you leave the setting alone.
- It was a featured picture, which is rare for a city park.
~ It could be moved to the end of the article where it bothers nobody.
~ The template has a width setting; has anyone tried that?
"""

FORMATTING_TRAIN = """
= Siege of Tarn Castle | the date format
? I propose to write all dates here with the day first. At the moment we have three formats in one article.
? Could we settle on one date format? The article mixes several, and it looks untidy.
+ The battle took place in Europe, where the day comes first.
+ The first version of the article had the day first, which decides it under the guideline.
+ Most of our sources write the dates that way too.
- The article has had the month first for nine years, so leave it alone.
- The author who wrote most of the text chose the month first.
- Changing eighty dates by script broke two quotations last time.
~ The guideline says to keep the style of the first major contributor.
~ As long as it is the same everywhere, I do not mind which.

= Mount Edda | the height in feet
? I suggest giving the height in metres first. Only the infobox has feet first.
? Can we put metres before feet? The whole survey was done in metres.
+ The survey report gives metres, and the feet are our own conversion.
+ The country where the mountain stands uses metres.
+ The rounding to feet has already caused one wrong figure in the table.
- Most visitors to this mountain think in feet.
- The classic guidebooks all give the height in feet.
- Both units are there already, so nothing is gained by swapping them.
~ The template can switch the order for each reader, if I remember well.
~ Metres first, feet in brackets would be the usual thing.

= Northern Bus Network | the table of stops
? The table of stops should be turned into text. Nobody reads four hundred rows.
? I would like to remove the long table of stops and describe the routes instead.
+ A timetable belongs on the operator's site and not in an encyclopedia.
+ The table is wrong within a month each time the routes change.
+ On a phone the columns are cut off.
- The table is the most used part of this article.
- Text about routes would be longer and harder to follow.
- It took several of us a year to put it together.
~ A list of the main stops only could be a fair middle way.
~ It could be collapsed, so that those who want it can open it.

= Pollard and Sons | the infobox
? I propose to take the infobox out. It repeats the first paragraph word for word.
? Does this article need an infobox? Half of the fields are empty.
+ Seven of twelve fields say unknown.
+ The founding date in it was made up from a newspaper's guess.
+ The lead already has everything that is certain.
- An infobox lets readers find the main facts at a glance.
- Empty fields can be deleted without deleting the box.
- Nearly all articles on family firms have one.
~ A shorter box with four lines would do, I think.
~ This was discussed in the archive; the outcome was to keep it small.

= Harbour Festival of Sund | the bold names
? I would like to remove the bold type from the names of bands. The page looks like a poster.
? Can we lose the bold names? Nearly every second word shouts.
+ The style guide keeps bold type for the subject of the article.
+ With so much in bold nothing stands out at all.
+ Screen readers stumble over it, as one user told us last year.
- Bold names help people who look for one band in a long list.
- The style guide allows exceptions, and this is a list.
- Other festival pages do the same and nobody minds.
~ Links would make the names stand out without any bold type.
~ Turning the text into a proper list might solve this.

= Old Kelmish Alphabet | the section order
? I suggest moving the history section to the top. Readers meet the letters before they know whose they are.
? Could the history come before the table of letters?
+ Without the history the table makes no sense to a newcomer.
+ All our other alphabet articles start with the history.
+ The first sources on the letters are explained only in the history section.
- Most people open the page to look up a letter.
- The table at the top is what the textbooks do.
- The order was agreed when the article was reviewed.
~ A short paragraph of history above the table might be enough.
~ The table of contents takes people where they want anyway.

= River Aske | the quotation box
? I propose to drop the quotation box. The poem has little to do with the river.
? The coloured box with the poem should go, in my view.
+ The poem never names the river, and the link is one critic's guess.
+ The box pushes the map out of sight.
+ Decorative quotations are discouraged by the style guide.
- The poem is on the plaque at the source of the river.
- Every child in the region learns the poem with the river.
- One small box does not spoil an article of this length.
~ The poem could be mentioned in the section on culture without the box.
~ Has anyone checked which river the poet lived by?
"""

FORMATTING_TEST = """
= Copper Coast Derby | the results table
? I suggest sorting the results table by year. By club it is impossible to follow.
? Could the results be listed by year? I had to read the table three times.
+ A season-by-season table shows how the rivalry changed.
+ The sports yearbooks that we cite list the results by year.
+ Sorted by club, every match appears twice.
- Sorted by club you see at once who leads.
- The table can be sorted by the reader with one click.
- The last change of that table lost eleven matches.
~ Two small tables might serve both kinds of readers.
~ Before anyone sorts anything, please save a copy of the data.

= Lowland Dialects | the phonetic spelling
? I would like to replace the home-made spelling by the phonetic alphabet.
? Can we use proper phonetic signs here? The present spelling misleads people.
+ The home-made spelling cannot show the two kinds of r.
+ The dialect atlas uses the phonetic alphabet throughout.
+ With the phonetic signs the examples can be compared with other articles.
- Ordinary readers cannot read the phonetic alphabet.
- The present spelling comes from the regional newspaper's own column.
- The audio files already show how it sounds.
~ Both could be given, with the simple spelling in brackets.
~ The language project has a template for this; it takes a minute.

= Almond Grove School | the heading levels
? I propose to join the eleven short sections. Each of them holds a single sentence.
? The page has more headings than sentences; could we combine some of them?
+ A heading for one sentence breaks the reading for nothing.
+ The table of contents is now longer than the history.
+ The review listed the many headings as the first thing to repair.
- Short sections make it easy to add something later.
- Parents look up single things here, like the uniform.
- Joined together, the sections become one grey block.
~ Three sections might do: history, buildings and school life.
~ I would join the first four and leave the rest as it is.
"""
