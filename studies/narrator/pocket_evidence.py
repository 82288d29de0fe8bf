"""Scenarios of `pocket-conflicts` about sources and wording. Every page is invented; pocket_scenarios.py reads this.

= page | topic     ? an opening     + a reason for the change     - a reason against it     ~ a bystander's remark
"""

SOURCES_TRAIN = """
= Ferry Disaster of Halm | the number of passengers
? I would like to correct the number of passengers to 212. The harbour list has it, and we say 240.
? Can we change 240 passengers to 212? The higher number comes from a newspaper of the first day.
+ The harbour list was signed by the captain an hour before the ship left.
+ First-day newspaper figures are nearly always too high.
+ The inquiry quotes the list and not the newspaper.
- The harbour list leaves out children under six.
- The memorial has 240 names on it.
- The inquiry calls the list incomplete on its second page.
~ We could give both numbers and say where each is from.
~ Has anybody counted the names on the memorial? It has been done for other ships.

= Doctor Pellam's Tonic | the newspaper advertisement
? I propose to remove the claim about a cure. The source is an advertisement.
? The sentence on the cure should go, since an advertisement is no source.
+ The text we cite was paid for by the maker.
+ No medical book of that time mentions a cure.
+ For medical claims we need far better sources than this.
- We do not say that it cured anybody; we say that it was sold as a cure.
- The advertisement is quoted in a history of medicine.
- Without that sentence nobody understands why it sold so well.
~ Words like was advertised as would make it clear who says so.
~ The history of medicine should be cited directly, with the page.

= Lake Irma Monster | the tourist leaflet
? I suggest that we stop citing the tourist leaflet. It is there to sell boat trips.
? Could we drop the leaflet from the sources? It contradicts itself on one page.
+ The leaflet dates the first sighting to a year before the lake existed.
+ A folklore journal covers the same stories with names and dates.
+ The boat company printed the leaflet and says so on the back.
- The leaflet is the only source for the two sightings in summer.
- For a legend it matters what is told, and the leaflet tells it.
- The folklore journal itself cites the leaflet.
~ It could be cited as what it is: a leaflet by the boat company.
~ I can get the journal from the library next week.

= Valley Choir | the choir's own website
? I would like to tag this page. All nine references go to the choir's own website.
? Can we find sources other than the choir's own pages? At present there is not a single one.
+ Nobody can check the prizes except on a page that the choir writes itself.
+ The local paper has an archive that is free to search.
+ With only its own site the choir may not even qualify for a page.
- For dates and names of conductors its own site is good enough.
- The prizes are listed by the festival too, only without a link.
- A tag at the top scares readers away and improves nothing.
~ Replacing two or three of them would already be a good start.
~ The festival office answers letters, so one could ask for a list.

= Iron Bell of Dorn | the date of the casting
? I suggest the year 1634 for the bell. The parish book is older than the plaque.
? Could we change the year of casting? The plaque was put up three centuries later.
+ The parish book records the payment to the founder in 1634.
+ The plaque was paid for by a society that liked round numbers.
+ The style of the letters fits the earlier year.
- The plaque says 1650, and so does the bell itself.
- The payment may have been for another bell that was lost.
- Reading old parish books ourselves is original research.
~ The heritage office must have a file on the bell.
~ Between 1634 and 1650 would be true, whoever is right.

= Red Lantern Recipe | the grandmother's cookbook
? The cookbook that we cite was printed at home. I propose to remove it.
? I would like to remove the home-made cookbook from the references.
+ It has no publisher, and twelve copies exist.
+ Three of its recipes are copied from a magazine.
+ Nobody who reads this can get hold of it.
- One of the twelve copies is in the national library.
- The chef who made the dish famous names it as her source.
- We have used it here for years without any trouble.
~ If the library has it, it can at least be checked.
~ The chef's own book might say the same and is easy to find.

= Harrow Gliding Record | the altitude claim
? I propose to take out the altitude record. The club's log is the only source.
? Can we remove the record? No federation ever confirmed it.
+ The federation keeps a list, and this flight is not on it.
+ The instrument was never sealed, as the rules require.
+ The club has claimed two other records that turned out to be wrong.
- The log was signed by two witnesses who were not members.
- The federation had no list for that class in those years.
- A radio programme reported on it the same evening.
~ Unconfirmed is a word that could go in front of record.
~ The museum has the instrument, sealed or not; somebody could ask.
"""

SOURCES_TEST = """
= Bell Island Lighthouse Keeper | the diary
? I suggest that we rely less on the diary. It was written forty years after the storm.
? Could we cut down on the diary? Half of the article rests on it.
+ The keeper wrote it as an old man and for a prize.
+ The weather records do not show a storm in that week.
+ Two of the people whom he meets were dead by then.
- It is the only account by somebody who was there.
- The weather station was on the other side of the mountains.
- Historians use the diary, with care, and so can we.
~ According to his diary would be a fair beginning for those sentences.
~ The edition with notes discusses the dates; has anyone read it?

= Sable Hound | the breed club
? I would like to remove the breed club's health figures. They come from the sellers.
? The health section rests on the breed club alone; can we replace it?
+ The club only asked its own members, and forty answered.
+ The veterinary school has figures for six hundred dogs.
+ A club that sells puppies is not a neutral source.
- The veterinary school mixed two breeds in its figures.
- The club is the only body that knows the family lines.
- Its report was printed in a journal after review.
~ Give both figures with the number of dogs, and readers can judge.
~ I have the journal at work and can check what was reviewed.

= Three Bridges Marathon | the course record
? The course record should be changed. The winner of 1998 ran a shorter course.
? I propose to mark the record of 1998 as invalid. The course was too short.
+ The organisers measured it again and found that 300 metres were missing.
+ The yearbook removed the record the year after.
+ Nobody has come within six minutes of it since.
- The organisers still print that time on their own posters.
- All runners that day ran the same course.
- The new measurement followed another line around the harbour.
~ A footnote could explain it without removing anything.
~ Which yearbook is it? There are two, and they differ.
"""

WORDING_TRAIN = """
= Governor Aldous Finch | the word notorious
? I propose to delete the word notorious from the first line. It judges him before we say a thing.
? Could we drop notorious from the lead? The facts speak well enough.
+ None of the three biographies uses the word.
+ The style guide lists it among words to avoid.
+ Readers can see for themselves what he did from the second paragraph.
- Every newspaper of his day called him that.
- Without the word the lead sounds like praise.
- The word has been there since the article began.
~ Perhaps the lead could say who called him so, and when.
~ The third paragraph would be a better place for it.

= Tin Valley Strike | the phrase bitter end
? I would like to replace bitter end by a date. It is a phrase out of a novel.
? Can we write this more plainly? Bitter end is not for an encyclopedia.
+ The date tells the reader more than the mood.
+ For the mine owners the end was anything but bitter.
+ The phrase is copied from the union's own pamphlet.
- The phrase is quoted in all the histories of the strike.
- Two families lost everything, and the text should show it.
- A bare date makes it sound like a change of timetable.
~ With quotation marks and a source the phrase could stay.
~ The last paragraph needs a rewrite anyway, so let us wait for that.

= Castor Peak Rescue | the word heroic
? I suggest taking out heroic, in all four places.
? Could we do without the word heroic? The deed is described, and that is enough.
+ Four times in six sentences is advertising.
+ The official report is sober and all the stronger for it.
+ We describe, and the readers may admire.
- The rescuers were given a medal for heroism; the word is on it.
- All the papers used it, and two of the men died.
- One mention at least should stay in the lead.
~ Once, and next to the medal, seems about right to me.
~ I counted five, by the way; there is one in a caption.

= Willow Diet | the word so-called
? I propose to delete so-called before diet. It sneers at the people who follow it.
? Can the word so-called go? It tells readers what to think.
+ The health office just says diet in its report.
+ The criticism has its own section with good sources.
+ A neutral text does not need raised eyebrows.
- There is no list of foods, so it is not a diet in any sense.
- Two medical reviews put the word in quotation marks.
- Without it the article sounds like the author's brochure.
~ A plain sentence on what it is and is not would help more than one word.
~ The health office's definition could be quoted in the lead.

= Brass Lane Eviction | the word squatters
? I would like to say residents in place of squatters. Many had lived there for years.
? Could we replace squatters? It is the landlord's word.
+ The court called them residents in its ruling.
+ Half of the families had paid rent to the former owner.
+ The word squatters occurs only in one newspaper that the landlord owned.
- Residents hides that there was no contract, which is what the case was about.
- The families used the word themselves on their banners.
- The ruling uses both words in different places.
~ Occupants is dull, but nobody objects to it.
~ We could follow the ruling: one word before the sale, another after it.

= Moth Radio Hour | the word controversial
? I suggest deleting controversial from the lead. One complaint is no controversy.
? Can we lose controversial? It is a label without a story.
+ There was a single complaint, and it was turned down.
+ The section on reception has nothing but praise.
+ The word says that there was a quarrel but not about what.
- The station was fined twice, which the article leaves out.
- A debate in parliament is a controversy by anyone's measure.
- The presenter calls the programme controversial himself.
~ If the fines can be sourced, they belong in the text instead of the word.
~ The debate lasted ten minutes, as the record shows; maybe mention it so.

= Long Meadow Dam | the word claimed
? I propose said in place of claimed for the engineers. We use said for the ministry.
? Could we treat both sides alike? One side says, and the other side claims.
+ The style guide warns of exactly this pair of words.
+ The engineers turned out to be right about the water level.
+ An even tone costs us nothing.
- The engineers gave no figures, and the ministry did.
- Claimed only means that it was not proved at that time.
- The source itself says claimed.
~ Wrote would suit both, since both did it in letters.
~ Please change it everywhere or nowhere; there are twelve places.
"""

WORDING_TEST = """
= Senator Ruth Calloway | the phrase stepped down
? I suggest resigned in place of stepped down. It is what the letter says.
? Could we write resigned? Stepped down sounds like a holiday.
+ The letter is public and uses the word itself.
+ The inquiry asked for it two days before.
+ Short and exact words are better in a lead.
- The term was over in a week, so it was hardly a resignation.
- Her office and two papers wrote stepped down.
- Resigned suggests that the inquiry found something, and it did not.
~ Left office would be true and would suit everyone.
~ Quote the letter, and the question goes away.

= Gravel Pit Occupation | the word peaceful
? I would like to remove peaceful from the first sentence. A guard was hurt.
? Can we take out peaceful? It was not so on the last day.
+ The hospital treated four people on the last day.
+ The organisers themselves apologised for it.
+ The lead should not deny what the last section says.
- Sixty days of it were peaceful, and one was not.
- The court found that the guard fell from his own ladder.
- Both the mayor and the police called it peaceful.
~ Largely peaceful is what the mayor said in full.
~ Why not leave the word out and give the two facts?

= Pavel's Theorem | the word obvious
? I propose to delete obvious from the proof. To most readers it is not.
? Could we drop the word obvious? It helps nobody who is stuck.
+ A reader who finds it obvious loses nothing when the word is gone.
+ The textbook takes half a page for that very step.
+ Two people have asked about this step here already.
- In mathematics the word is a signal that no trick is needed.
- The half page in the textbook is for another theorem.
- A long explanation would bury the idea of the proof.
~ One line with the reason would serve everybody.
~ A footnote for that step might be the best of both.
"""
