"""Scenarios of `pocket-conflicts` about lists and lengths. Every page is invented; pocket_scenarios.py reads this.

= page | topic     ? an opening     + a reason for the change     - a reason against it     ~ a bystander's remark
"""

LISTS_TRAIN = """
= People of Varnby | the baker on the list
? I suggest removing the baker from the list of notable people. He has no article.
? Could we take the baker off the list? One prize for rolls does not make him notable.
+ The rule for this list is one article each, and it is written at the top.
+ If he stays, every shop in town will want to be on it.
+ The only source on him is a page of the town's tourist office.
- He supplied the royal household for thirty years.
- A page on him could be written tomorrow from two newspapers.
- The list has three painters whom nobody outside the town knows.
~ Then write the page first, and add him after that.
~ The rule at the top was added last month, and I do not see where it was discussed.

= List of Haunted Inns | the inn without a ghost
? I would like to remove the Black Swan. Its own website says that there is no ghost.
? The Black Swan should come off this list, since it makes no claim at all.
+ The landlord told the newspaper that he invented the story.
+ The list is for inns with a documented tradition.
+ The only book that has it was written by the landlord's brother.
- An invented ghost is still a ghost story, like all the others here.
- It is the best known haunted inn in the county.
- The story is older than the landlord, as the archive shows.
~ A column for who tells the story would be useful.
~ What is in the archive exactly? A page number would help.

= See Also of Paper Boats | the see-also links
? I propose to cut the see-also list to five. There are thirty links now.
? Can we prune the see-also section? Half of the links have nothing to do with paper.
+ Links that are in the text already need not be repeated.
+ Submarines and origami have their own lists.
+ A list of thirty links is read by nobody.
- Readers find related subjects only through that list.
- Each link was added by someone who thought it useful.
- Memory is cheap, and scrolling is easy.
~ Ten would be plenty, and we could vote on which ones.
~ The template at the bottom does the same job already.

= Fastest Rowing Crews | the junior crew
? I suggest taking the junior crew out of this table. They rowed a shorter course.
? Could the junior time be removed? It cannot be compared with the others.
+ Their course was two hundred metres shorter.
+ The federation keeps junior records in a separate list.
+ Readers who see the table think that the juniors beat everybody.
- A footnote has explained the course for years.
- Their time is the fastest ever rowed on that river.
- The other table for juniors was deleted by the same people.
~ A separate table under this one would solve it.
~ The footnote is easy to miss; could it stand in the row itself?

= Films Shot in Corrin | the student film
? The student film should not be listed. It was never shown in a cinema.
? I propose to delete the student film from the list.
+ It has no entry in any film database.
+ The only showing was in a school hall.
+ The person who added it shares the director's name.
- It won first prize at a festival with a page of its own.
- Nothing in the list's title says cinema.
- Two documentaries on the list were not in cinemas either.
~ Was the festival prize reported anywhere? That would decide it for me.
~ Let us agree on a rule first and then look at single films.

= Varieties of Pear | the Brown Duchess
? I would like to remove the Brown Duchess. It is the same pear as the Autumn Lady.
? Can we merge the Brown Duchess with the Autumn Lady? They are one variety.
+ A genetic study found no difference between the two.
+ The nursery catalogue lists one as another name for the other.
+ Two entries for one pear mislead growers.
- The study had three samples, and two of them were mislabelled.
- The fruits ripen a month apart, as every grower knows.
- The national collection keeps them as two trees.
~ Keep both and mention the study: that is what I would do.
~ The collection's catalogue is online, and it has notes on this.

= Bridges Out of Use | the footbridge
? I propose to remove the footbridge. It was reopened in May.
? The footbridge is in use again, so could it come off the list?
+ I crossed it last week, and so did many others.
+ The council announced the opening on its site.
+ A list of bridges out of use should not hold one in use.
- It is open for a trial of three months only.
- The council's page says that it will close again in autumn.
- Until a newspaper reports it we have your word alone.
~ Open on trial since May would be a short and true note.
~ Why not wait until autumn? It does no harm there.
"""

LISTS_TEST = """
= Inventions of Karlo Benn | the folding ladder
? I suggest deleting the folding ladder. He improved it, and somebody else invented it.
? Could the ladder come off the list? The patent is in another name.
+ The patent office lists another man twelve years earlier.
+ His own letters speak of a better hinge and of nothing more.
+ The museum changed its label last year.
- Without his hinge no such ladder could have been sold.
- All the encyclopedias of his time give him the ladder.
- The earlier patent was for a folding chair.
~ Improved the folding ladder would fit the facts.
~ A copy of the earlier patent would help all of us.

= Islands of the Moor Sea | the sandbank
? I would like to take the sandbank out. It is under water half of the day.
? The sandbank is not an island; may I remove it?
+ The sea charts mark it as a shoal.
+ By law an island must stay dry at high tide.
+ The number of islands in the lead is wrong because of it.
- Seals and two huts have been on it for thirty years.
- The fishermen and the nature office call it an island.
- The charts are older than the last great storm.
~ Counting it apart, as the nature office does, may be the answer.
~ Are the huts on stilts? That would tell us something.

= Choirs in Exile | the quartet
? I propose to remove the quartet. Four singers are no choir.
? Could we take the quartet off this list? It belongs in another one.
+ Every music dictionary draws the line above four.
+ There is a list of vocal groups for that.
+ They never called themselves a choir.
- Their posters said chamber choir in two languages.
- At home they were twelve, and only four got out.
- The book on the subject gives them a whole chapter.
~ A note about the twelve and the four would be worth having.
~ Is there a definition at the top of the list? I see none.
"""

LENGTH_TRAIN = """
= The Ninth Harbour | the plot summary
? I suggest cutting the plot summary by half. It has two thousand words.
? Could we shorten the plot? It is longer than the book's first chapter.
+ The guideline gives seven hundred words as the limit.
+ The minor characters need not be followed to the end.
+ Nothing is said about the reviews, because the plot fills the page.
- The plot has three time lines and cannot be told in less.
- Every scene that is cut will be asked about here.
- Length is not a fault if the text is clear.
~ A first cut to twelve hundred words might satisfy both sides.
~ The part about the storm could go without any loss.

= Gable Street Hospital | the list of doctors
? I would like to remove the list of former doctors. It reads like a staff directory.
? Can the doctors' names go? There are ninety, and four have articles.
+ An encyclopedia is not a directory, as the guideline says.
+ The four with articles can be named in the text.
+ The list has no source except an old door plate.
- Family researchers use this list every week.
- It was put together from annual reports and can be sourced.
- A long list at the end disturbs nobody.
~ The local history wiki would be glad to have it.
~ Where are the annual reports kept? Then we could cite them.

= Copper Kettle Cafe | the trivia section
? I propose to delete the trivia section. It is a heap of unrelated lines.
? Could the trivia go? Nobody needs to know the name of the cat.
+ Not one of the nine lines has a source.
+ The two that matter could be moved into the history.
+ Trivia sections are discouraged, and this one shows why.
- The cat is the reason why people visit the cafe.
- The lines are harmless and amusing.
- Two of the lines were in a television programme.
~ Find a source for the cat and put it into the history.
~ The programme is in the station's archive, with a date.

= Tolvan Civil War | the background section
? I suggest shortening the background. The war begins on the ninth screen.
? Could we cut the background to a page? It starts in the Stone Age.
+ There is a separate page on the earlier history.
+ Readers look for the war and give up before it begins.
+ The review asked for a shorter background in its first line.
- The causes of the war lie two centuries back.
- The separate page is poor and has no sources.
- Shortened, the background would favour one side's story.
~ Moving the good parts to the separate page would improve both.
~ Let someone draft the short version here, so that we can see it.

= Silver Spoon Murders | the theories section
? I propose to shorten the section on theories. It is half of the article.
? Could we trim the theories? Some of them are from a message board.
+ Three of the theories have no source but a message board.
+ Living people are accused in it, which is serious.
+ The detective's own book dismisses all but two.
- The theories are why this case is still known.
- A case without a culprit needs a section on theories.
- Each theory was in the newspapers at some time.
~ Those about living people should go at once; the others can wait.
~ A sentence for each in place of a paragraph would be fair.

= Marta Lindqvist | the childhood section
? I would like to cut the section on her childhood. It tells of her pets and her teeth.
? Can we shorten the childhood part? She became known at forty.
+ Everything in it is from an interview with her aunt.
+ Her work, for which she is known, has three sentences.
+ Details about a living person's family need a reason.
- Her novels are about that very childhood.
- The aunt's interview appeared in a serious magazine.
- Better to lengthen the part on her work than to cut this one.
~ The novels could be linked to the places, and the rest could go.
~ What does she say herself? There is a radio talk of hers.

= Summer Timetable Reform | the quotations
? I propose to remove most of the quotations. There are more of them than of our own words.
? Could we paraphrase the quotations? The page is a scrapbook.
+ Long quotations may even be a copyright problem.
+ Four of them say the same thing in other words.
+ Our task is to sum up, not to collect.
- In their own words the sides cannot complain of being misread.
- Paraphrases led to a dispute here two years ago.
- They are short, all of them under three lines.
~ One quotation for each side would be a good measure.
~ I could sum up the four that agree, if nobody minds.
"""

LENGTH_TEST = """
= Glasshouse Expedition | the equipment list
? I suggest removing the list of equipment. It goes down to the number of spoons.
? Could the equipment list be cut? Two hundred lines are too many.
+ No reader needs to know how many spoons they had.
+ The list is copied from the appendix of one book.
+ The food shortage can be explained in two sentences.
- The spoons show how badly it was planned.
- A list of facts cannot be copied in the legal sense.
- Model builders and schools use it all the time.
~ The twenty things that mattered would be a good selection.
~ The book is free online, so a link might be enough.

= Voice of the Quarry | the episode summaries
? I would like to shorten the summaries of the episodes. Some have six hundred words.
? Can we cut the summaries? They retell every line of dialogue.
+ Two hundred words are the custom for one episode.
+ The last ones have clearly been copied from a fan site.
+ A reader should still have a reason to listen.
- The recordings are lost, so the summaries are all that is left.
- Whoever wrote them owned the scripts.
- Other radio series have longer summaries than these.
~ If the recordings are lost, a page in the archive would be better than here.
~ Could those copied from the fan site be marked first?

= Mayor Tobias Renn | the parking affair
? I propose to shorten the parking affair. It takes five paragraphs for one ticket.
? The parking affair is blown out of proportion; can we make it one sentence?
+ He was mayor for sixteen years, and this lasted three days.
+ The fine was twenty, and he paid it.
+ All five paragraphs come from the same local paper.
- It ended his career, as every obituary says.
- He lied to the council about it, and that is the point.
- The national papers reported it for a week.
~ A paragraph would be fair: longer than a sentence, shorter than five.
~ What did the obituaries spend on it? We could follow them.
"""
