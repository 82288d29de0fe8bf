"""Scenarios of `pocket-conflicts` about titles and merges. Every page is invented; pocket_scenarios.py reads this.

= page | topic     ? an opening     + a reason for the change     - a reason against it     ~ a bystander's remark
"""

TITLES_TRAIN = """
= Sorrel Uprising | the word uprising
? I suggest moving this page to Sorrel Strike. Nobody was armed, so it was hardly an uprising.
? Could we rename the page? The newspapers of the time speak of a strike.
+ Both histories that we cite call it a strike in their titles.
+ An uprising needs some attempt to take power, and there was none.
+ The town's own museum uses the word strike on its signs.
- The local name is the Uprising, and the street is called after it.
- Shots were fired on the second day, so strike is too mild.
- Readers who look for it will type uprising.
~ A redirect from the other name will be there either way.
~ How do the more recent books call it? Those should count most.

= The Glass Orchard | the title of the novel
? I propose to move the page to the original title. The translation was never published here.
? Can we use the novel's own title? The English one is a fan's invention.
+ No library lists the book under the English title.
+ The author asked that the title be left untranslated.
+ Reviews in English keep the original title as well.
- English readers cannot pronounce the original title, let alone type it.
- The publisher's catalogue gives the English title in brackets.
- We use English titles for the author's other books.
~ When the translation comes out next year we will know for sure.
~ Either way the lead should give both titles.

= Marsh Lantern | the capital letters
? I would like to write the name of the flower in small letters. It is not a proper name.
? Could the page move to a title in lower case? Plant names are common nouns.
+ The style guide asks for lower case except for names of people and places.
+ The flora that we cite uses lower case.
+ Only one nursery writes it with capitals, and that is advertising.
- Botanists in this country do write common names with capitals.
- In lower case readers will think of a lamp in a marsh.
- The page was moved back and forth before, and the capitals won.
~ The plant project had a vote about this, perhaps someone can find it.
~ The Latin name would avoid the question altogether.

= Port Venn | the old spelling
? I propose that we use the new spelling of the town. The council changed it last year.
? The page should move to the new official spelling, in my opinion.
+ The road signs and the council's site have the new spelling.
+ The post office returns letters with the old one.
+ Maps printed this year show the new spelling.
- Books and newspapers still use the old spelling almost everywhere.
- A council cannot decide what the rest of the world calls a town.
- We follow common use, and common use has not changed yet.
~ Perhaps we should wait a year and look at it again.
~ The lead could give both spellings in the first line.

= Blue Line Collective | the word collective
? I suggest dropping Collective from the title. The group calls itself Blue Line.
? Can we shorten the title to Blue Line? That is the name on the records.
+ All five records say Blue Line and nothing else.
+ The word collective was added by a concert hall, once.
+ Short titles are easier to find.
- There are two railways and a swimming team called Blue Line.
- The contract we cite names the Blue Line Collective.
- The music press needs the longer name to tell them from others.
~ A title with band in brackets would be the usual answer.
~ What does their own site say at the bottom of the page?

= Winterhold Massacre | the word massacre
? I think the title should say battle. Both sides had soldiers there.
? Could we discuss the title? Massacre takes a side from the first word.
+ The army records list losses on both sides.
+ A neutral title lets the article explain what the sides said.
+ The school books changed the word ten years ago.
- Nearly all the dead were unarmed, as every source agrees.
- Massacre is the name under which the place is remembered.
- The school books changed it under pressure, which the article describes.
~ The recent books in other languages could help us decide.
~ Whatever the title, the lead has to explain the dispute about it.

= Third Canal Tunnel | the number in the title
? I suggest calling the page Castle Canal Tunnel. It was never the third of anything.
? The title is wrong: there were four tunnels before this one. Can we move it?
+ The engineers' plans say Castle Canal Tunnel on every sheet.
+ The number comes from a misprint in a guidebook.
+ With the number the page contradicts its own first section.
- Boaters and the canal company call it the Third Tunnel.
- Two earlier tunnels were on the other canal and do not count.
- The sign over the entrance says Third Tunnel in stone letters.
~ A photo of the sign would be worth adding in any case.
~ The first sentence can explain the number, whichever title we take.
"""

TITLES_TEST = """
= Amber Road Riots | the word riots
? I propose to move the page to Amber Road Protests. The word riots comes from the police report.
? Could the title say protests? Most of those evenings were peaceful.
+ Four of the five evenings passed without any damage.
+ The independent inquiry speaks of protests throughout.
+ The police report is the only source that says riots.
- Nine shops burned, and people remember it as the riots.
- The national papers used riots in every headline.
- Protests would hide the fifth evening, which made it known.
~ The inquiry's title has both words; could ours as well?
~ I would look at what the books of the last five years say.

= Little Owl Theatre | the name of the theatre
? I suggest moving the page to the new name. The theatre was renamed in autumn.
? The title is out of date; may I move the page to the theatre's new name?
+ The new name is on the building, the tickets and the programme.
+ The old company was dissolved, and the new one has only the new name.
+ Someone who looks for tickets will not know the old name.
- Everything notable about this theatre happened under the old name.
- The new name is that of a sponsor and may change again.
- Reviews still say Little Owl, even those of this month.
~ One more season and we shall see which name sticks.
~ A sentence in the lead and a redirect would do for now.

= Peasant Bread of Mora | the place in the title
? I would like to remove the place from the title. The bread is baked in the whole province.
? Could the title be just Peasant bread? It is not from Mora alone.
+ The bakers' guild lists forty villages that bake it.
+ The oldest recipe is from the other end of the province.
+ The place was added to the title without any discussion.
- The protected label names Mora and only Mora.
- Peasant bread could be from anywhere in the world.
- The other villages copied it, as the guild itself says.
~ Maybe there is room for a general page and one on the label.
~ Is the label still valid? The register should tell.
"""

MERGES_TRAIN = """
= Stone Skipping Cup | the merge with Stone Skipping
? I propose to merge this page into Stone Skipping. There are only four sentences here.
? Could we merge this? The cup was held twice and then forgotten.
+ Everything here fits into one paragraph of the main article.
+ The two sources are a club newsletter and a blog.
+ Nobody but us has edited this page in three years.
- The cup had teams from eleven countries and its own rules.
- A short article may grow, and a merged one never does.
- The main article is far too long already.
~ Let us see whether anyone finds newspaper reports first.
~ A merge can be undone later if more turns up.

= Upper Linden | the merge of the villages
? I suggest one article for Upper and Lower Linden. They have been one parish for a century.
? Can we join the pages on the two villages? They repeat each other.
+ The census counts both villages as one place.
+ Nine of ten sentences are the same in both articles.
+ They share the church, the school and the fire brigade.
- They were founded two hundred years apart by different families.
- Every other village in the county has its own page.
- The people there would laugh at the idea that it is one place.
~ An article on the parish with a section for each village might work.
~ The gazetteer gives them two entries, for what it is worth.

= Night Ferry Murders | the split of the trial
? I propose a separate page for the trial. It takes up two thirds of this one.
? Could we split off the trial? The page is close to unreadable.
+ The trial has more sources than the crime itself.
+ With the trial gone the page would be a comfortable length.
+ Two books are about the trial alone.
- Without the trial the rest makes no sense.
- Two pages would have to be kept in step for ever.
- Shortening the trial section is better than moving it.
~ A summary here and the details there is how others do it.
~ Maybe first trim, then see whether a split is still needed.

= Harp Guitar Tuning | the merge with Harp Guitar
? This page should be merged into Harp Guitar. Tuning is a chapter of that subject.
? I would like to merge this page. No reader looks up the tuning by itself.
+ The page view counts show that nearly all readers come from the main article.
+ Every handbook treats the tuning as part of the instrument.
+ Half of this page explains the instrument once more.
- There are nine tunings with their own history.
- The main article is for beginners, and this is for players.
- Last year's merge proposal failed for good reasons.
~ A table of tunings could go there, and the history could stay here.
~ Which of the nine tunings are really in use?

= Ebb Street Market | the merge with Ebb Street
? I suggest merging the market into the page on the street. They are the same hundred metres.
? Can we merge these two? The street is known only for its market.
+ There is no source on the street that is not about the market.
+ The street page is a list of shops without references.
+ One good page is better than two thin ones.
- The street is six hundred years older than the market.
- The market moved twice and was not always in that street.
- The listed houses have nothing to do with the market.
~ The merge could also go the other way round.
~ I can look up the town archive on Friday before we decide.

= Song of the Reapers | the merge of the two versions
? I propose to merge the pages on the two versions. It is one song with two endings.
? Could the two pages become one? The melodies differ by three notes.
+ The song collector himself printed them under one number.
+ Singers mix the two versions freely.
+ Readers now have to open two windows to compare them.
- The second version has another text from the third verse on.
- The two belong to different festivals in different valleys.
- The music school teaches them as two songs.
~ A page with two columns would show what differs.
~ The collector's number settles little; he grouped a lot of things.

= Fenwick Mill Fire | the split from the mill
? I think the fire deserves its own page. It is the reason why the mill is known.
? Could we move the fire to a page of its own? It overwhelms the history of the mill.
+ The inquiry into the fire changed the law for the whole country.
+ The mill worked for ninety years, and we give the fire four fifths of the text.
+ There are three books on the fire and none on the mill.
- Without the fire nothing would be left here worth reading.
- The fire cannot be understood without the building.
- A new page would split the few people who look after this one.
~ The law of that year has a page, and the fire could go there.
~ Draft it in your user space first, and then we can compare.
"""

MERGES_TEST = """
= Cloudberry Liqueur | the merge with Cloudberry
? I propose to merge this page into Cloudberry. It is one recipe and one brand.
? Should this not be a section of the page on the berry?
+ The only brand closed its doors, and no other maker is named.
+ The berry's page already has a section on drinks.
+ Both sources are about the berry and mention the drink in passing.
- The drink was made by monks for two hundred years.
- The page on the berry is about a plant and not about drinks.
- There is a third source now, in the library of the brewery school.
~ It might go into a list of northern liqueurs just as well.
~ Could somebody read the third source before we vote?

= Old Dock Crane | the merge with Dock Museum
? I suggest merging the crane into the museum's page. It stands in its yard.
? Can we merge the crane with the museum? It is one of their exhibits.
+ The museum owns it, repairs it and shows it.
+ The page on the crane is mostly about opening hours.
+ Visitors see both with one ticket.
- The crane is a hundred years older than the museum.
- It is a protected monument in its own right.
- It was moved there only in the last decade.
~ A heading for the crane in the museum's page could be a start.
~ The register of monuments would make a good source, either way.

= Two-Day March | the split of the routes
? I would like to move the routes to a page of their own. The tables fill the whole article.
? Could the routes be split off? I gave up looking for the history.
+ There are thirty tables, one for each year.
+ The history has good sources, and the tables have none.
+ A page of routes can be kept by those who walk them.
- A page of nothing but tables will be deleted within a week.
- The routes are the history of this march.
- The tables can be folded without any split.
~ One map could replace at least twenty of the tables.
~ What about keeping the first and the latest route only?
"""
