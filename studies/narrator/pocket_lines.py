"""What is said around the reasons in `pocket-conflicts`: how a turn begins and ends, whatever the dispute is about."""

# Behind an opening.
ASKING = (
    "Any objections?",
    "What do others think?",
    "I will do it on Sunday if nobody minds.",
    "Please say so if you disagree.",
    "It would only take a minute.",
    "Comments are welcome.",
    "I have thought about this for a while.",
    "It has bothered me for months.",
)
# The opener again, before anybody has answered.
GONE_AHEAD = (
    "No answer for four days, so I have gone ahead.",
    "I take the silence as agreement and have made the change.",
    "Nobody has objected, so I made the change this morning.",
    "It is done now. Revert me if I got something wrong.",
    "As there was no reply, I have been bold.",
    "A week has passed, and I have put the change in.",
)
# A speaker's first turn, by stance.
ENTRANCES = {
    "for": (
        "I agree with the change.",
        "Support.",
        "Good idea.",
        "Yes, please.",
        "I had the same idea last week.",
        "I am in favour.",
        "That makes sense to me.",
        "About time, too.",
    ),
    "against": (
        "I am against this.",
        "Oppose.",
        "Please leave it as it is.",
        "I would rather not.",
        "I do not agree.",
        "I am not convinced.",
        "That would be a step backwards.",
        "Not without agreement, please.",
        "No, this was fine as it was.",
        "I see no need for this.",
    ),
    "aside": (
        "I came here from the noticeboard.",
        "I have no strong view on this.",
        "A thought from outside.",
        "I have not edited here before.",
        "Just passing by.",
        "Trying to help here.",
    ),
}
# The same when a side has no reason left.
SECONDS = {
    "for": (
        "Support, for the reasons given above.",
        "I would make the change. The arguments for it are better.",
        "Count me among those in favour.",
        "I read all of this and think that the change is right.",
        "Yes to the change. It has been discussed enough.",
    ),
    "against": (
        "Oppose, for the reasons given above.",
        "I would leave the page alone. Nothing here is broken.",
        "Count me among those against it.",
        "I read all of this and still think that it should stay.",
        "No from me as well. There is clearly no agreement.",
    ),
    "aside": (
        "Both sides have a point, as far as I can see.",
        "You could ask for a third opinion on the project page.",
        "A short vote might bring this to an end.",
        "Would a trial for one month be possible?",
        "Whatever you decide, please note it at the top of this page.",
    ),
}
# A later turn, in answer to the other side.
ANSWERS = (
    "That does not answer my point.",
    "I still see it differently.",
    "That is beside the point.",
    "You leave something out.",
    "With respect, that is not so.",
    "I looked at it again and have not changed my mind.",
    "We are going round in circles.",
    "That argument cuts both ways.",
    "That is one way to read it.",
    "I have to disagree.",
)
# The same when a side has no reason left.
INSISTING = {
    "for": (
        "I have given my reasons, and nobody has refuted them.",
        "The guideline is clear enough on this.",
        "I count more arguments for the change than against it.",
        "I will make the change unless I hear something new.",
        "An edit that improves the page does not need a permit.",
    ),
    "against": (
        "I have given my reasons, and they still stand.",
        "There is no agreement here for such a change.",
        "I would ask you to leave it as it is until we are done.",
        "If you want a change, it is for you to find support for it.",
        "Until I hear something new, my answer is no.",
    ),
    "aside": (
        "Can we stay with the sources, please?",
        "It might help to sleep on it.",
        "Please do not revert each other while this is being discussed.",
        "I still think that a compromise is within reach.",
        "Perhaps somebody new should read this from the start.",
    ),
}
# Directly behind one's own turn.
ADDING = (
    "I forgot to add something.",
    "Another point.",
    "One more thing on this.",
    "I looked it up in the meantime.",
    "Let me add to that.",
)
ADDING_ALONE = (
    "I have put a note on the project page, so that others see this.",
    "I will be away until Monday and look in again then.",
    "I have asked at the noticeboard for more opinions.",
    "I have corrected a typing error in my comment above.",
)
# At the end of a turn: short-tempered, but about the matter or the process, never about a person.
HEATED = (
    "Please stop reverting without a word.",
    "I have explained this before.",
    "This is getting tiresome.",
    "I am losing patience with this.",
    "How often must this be said?",
    "One person cannot just decide this alone.",
    "Two reverts in an hour are not a discussion.",
    "I will take this to the noticeboard if it goes on.",
    "This should have been over days ago.",
    "I do not understand why this is so hard.",
    "And no, I will not drop it.",
    "Read the history of the page, it is all there.",
)
HEATED_OPENING = (
    "And please do not just revert it this time.",
    "I have asked for this twice already.",
    "I am tired of looking at it.",
    "It is beyond me why nobody has done it yet.",
)
HEATED_ENTRANCE = (
    "Please stop reverting without a word.",
    "This should have been over days ago.",
    "I do not understand why this is so hard.",
    "Two reverts in an hour are not a discussion.",
    "Read the history of the page, it is all there.",
    "It is a waste of time to discuss this again.",
)
CALM = (
    "But I am happy to hear other views.",
    "Thanks for bringing it up.",
    "I can live with a compromise.",
    "No hurry from my side.",
    "Thank you for your work on this page.",
    "I may be wrong, of course.",
    "Let us see what others say.",
)
# In front of the attack: of somebody who has spoken before, who spoke last, who is new.
LEADS = {
    "spoke": (
        "I have had enough of this.",
        "So that is your answer.",
        "I have read that twice now.",
        "Let us be honest for once.",
        "This is pointless.",
        "Now I have seen everything.",
        "I give up being polite.",
        "Fine, have it your way.",
        "I tried to be reasonable.",
        "Well, that explains a lot.",
    ),
    "spoke last": (
        "And another thing.",
        "Still no answer, I see.",
        "One more word before I go.",
        "I have now looked through your edits.",
        "I should have said this at once.",
        "On second thoughts, I will say it.",
    ),
    "new": (
        "I have just read all of this.",
        "I have watched this page for a week.",
        "I did not want to join in, but somebody has to say it.",
        "I followed this from the noticeboard.",
    ),
}
