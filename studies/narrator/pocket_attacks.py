"""The attacks of `pocket-conflicts`, apart for train and test: condescension and insinuation, and plain insults.

All are mild, and none is about what somebody is by birth, belief, health or body. {topic} is the scenario's.
"""

SUBTLE, OPEN = "subtle", "open"

ATTACKS: dict[str, dict[str, tuple[str, ...]]] = {
    "train": {
        SUBTLE: (
            "Maybe start with an easier subject, one where you can follow what the others are saying.",
            "I keep forgetting that not everyone here has read a book on this.",
            "It must be nice to have so much time and so little to do with it.",
            "Do you have someone at home who could explain the guideline to you slowly?",
            "One does wonder who pays you for all the hours that you spend on {topic}.",
            "Funny how you only turn up where there is something to gain for you.",
            "Your other account agreed with you last time; will it be along soon?",
            "I am sure that this passes for thinking in your circle.",
            "Bless your heart, you really do believe that you are helping.",
            "Some of us did this for a living before you learned to type.",
            "I will use shorter words next time, so that you can keep up.",
            "Perhaps {topic} is simply a little too hard for you, and that is all right.",
            "Let the grown-ups finish this, and you can have the page back afterwards.",
            "People with a life outside this site seem to understand it at once.",
            "I would explain it again, but I have neither the time nor the crayons.",
            "Everyone can look up what you did on the last page, and then nobody will wonder about this one.",
            "How touching that you think anybody was asking for your opinion.",
            "It is almost sweet how sure you are of things that you know nothing about.",
            "You do have a talent: with every comment of yours I know less than before.",
            "Do let us know when you have finished your first book on the subject.",
            "Honestly, I did not expect more from someone with your record here.",
            "What a coincidence that you care so much about {topic} just when your friends do.",
            "Not everybody is made for this kind of work, and there is no shame in that.",
            "I begin to see why your last three articles were deleted.",
            "You must be great fun at parties, if anybody ever asks you to one.",
            "Take a walk and breathe; thinking does not come easily to everyone.",
            "I had a pupil like you once, who also confused being loud with being right.",
            "One day you will be as embarrassed for yourself as we are for you now.",
            "Your mother would be proud: a whole evening spent on {topic}.",
            "Nobody fights this hard for {topic} without a reason, so I wonder what yours is worth.",
            "It is always instructive to watch someone who cannot tell a source from a shopping list.",
            "By now I suspect that you do not misread things by accident.",
            "You may want to ask an adult before you press the save button again.",
            "I admire your courage; others would keep silent if they had understood so little.",
            "Was it you who got thrown out of the last project, or someone who writes exactly like you?",
            "I hope that you treat the people around you better than you treat the truth.",
        ),
        OPEN: (
            "You are a clown, and this page is your circus.",
            "What an idiot. Go and break somebody else's page.",
            "You are the most ignorant person who ever touched this article.",
            "Get lost, you pompous windbag.",
            "You are a liar, and everyone here knows it.",
            "Only a complete fool could write that, and here you are.",
            "You are pathetic, spending your days on {topic} because nobody can stand you anywhere else.",
            "Shut up already, you have no idea what you are talking about and never had.",
            "You are a petty little bully who cannot bear to lose.",
            "I have met doorknobs with more sense than you.",
            "You lazy hack, you have not opened one of those books.",
            "You are too stupid to be let near an encyclopedia.",
            "Crawl back under your stone and leave {topic} to people with a brain.",
            "You are a fraud and a coward, and you hide behind the rules.",
            "Go away, you nasty little troll.",
            "Your brain must be made of porridge.",
            "You are a disgrace to this project and a waste of everybody's time.",
            "Nobody likes you here, you miserable know-it-all.",
            "You are an arrogant jerk, and I hope that they ban you for good.",
            "Stop whining, you big baby.",
            "You wreck everything that you touch, you vandal, and then you play the victim.",
            "What a dunce you are; a child could have understood that.",
            "You hypocrite, you do every day what you accuse the rest of us of.",
            "I am sick of you and your stupid crusade about {topic}.",
            "You are a sneak and a cheat, and your friends here are no better.",
            "Damn it, how thick can one person be?",
            "You are a self-important bore with the manners of a goat.",
            "You are talking rubbish as usual, you twit.",
            "You are completely useless, and this page would be better off without you.",
            "Get a life, you sad excuse for an editor.",
            "You disgust me, you lying weasel.",
            "You are an incompetent meddler, and your work on {topic} is garbage.",
            "Take your foul temper and your tiny mind somewhere else.",
            "Congratulations, you are the most foolish person I have met on this site.",
            "You are nothing but a spiteful crank with a keyboard.",
            "Hell, even a parrot repeats things with more sense than you.",
        ),
    },
    "test": {
        SUBTLE: (
            "I suppose somebody has to be at the lower end of the learning curve.",
            "It is kind of the library to let you use the computer for so long.",
            "Have you thought of a hobby where it does not matter whether one understands anything?",
            "I expect that your employer is pleased with how you look after {topic}.",
            "Your confidence would be impressive if there were anything behind it.",
            "We can all see from your history why you need to win this one so badly.",
            "Some people read the sources, and some people are you.",
            "I will draw you a picture next time, with arrows.",
            "How restful it must be inside your head, with so little going on.",
            "Curious that a new account with the same spelling mistakes always takes your side.",
            "I am told that patience helps with slow learners, so I will wait for you to catch up.",
            "You have a very personal interest in {topic}, and I think that we both know why.",
            "If ever there is a prize for missing the point, I will put your name forward.",
            "It was brave of you to write that under your usual name.",
            "No doubt it sounded clever when you said it to the mirror.",
            "Do not worry, nobody who knows the subject takes you seriously anyway.",
        ),
        OPEN: (
            "You are an obnoxious fool, and you ruin every page that you visit.",
            "What a load of drivel from a perfect blockhead.",
            "You are a swindler, plain and simple.",
            "Nobody asked you, you insufferable snob.",
            "You have the wits of a wet sponge.",
            "Go jump in a lake, you wretched nuisance.",
            "You are a vain and talentless bungler, and you always will be.",
            "You stubborn mule, keep your dirty hands off {topic}.",
            "You are a rotten cheater who makes things up to win.",
            "You are a bitter grouch with nothing better to do.",
            "Only a nitwit would fight like this over {topic}, and you are the biggest nitwit of all.",
            "You are a thief of other people's time and a pest on top of it.",
            "I cannot stand you, and neither can anyone else here, you creep.",
            "To hell with you and your wretched opinions.",
            "You are a joke, and not even a good one.",
            "What a contemptible little tyrant you are.",
        ),
    },
}

# Invented accounts. No name is part of another, so that an answer names one at most.
ACCOUNTS = {
    "train": (
        "Brinefield, QuietOtter, Tamsin V, Oldmill77, Kestrelway, J. Harcastle, Pindrop, Marlowe Quill, Sedgewick3, "
        "Ironbark, LenaStrand, Moss and Stone, Tobiasz R, Fennimore, Cobalt Finch, Rooksworth, Dunlin, Hattie Moor, "
        "Papercrane, Vesperine, Northgate12, Ollerton, B. Castellan, Juniper Loft, Wexcombe, Tidewrack, Margit K, "
        "Larkspur9, Copperbeech, Anselm D, Sablewood, Pell Mellow, Ravensett, Ivo Tarn, Gorsefire, Mirabel J, Saltpan, "
        "Thornapple, Wendel, Zephyr Hollow, Ashlock, Brackenridge5, Corvane, Dottie Pym, Elderwick, Greta Holm, "
        "Hobnail, Inkhorn, Jolly Tern, Kit Marchbank, Lodestar21, Nettlebed, Orrin Vale, Plumbago, Quarterstaff, "
        "Rustic Pike, Swithin, Tarragon T, Umberline, Violet Crake, Wintergreen8, Yarrowby, Zinnia Post, Amberglow, "
        "Birchmoor, Candlewright, Dovecote, Emmet Row, Fiddlehead, Glasswing"
    ),
    "test": (
        "Hollis Grey, Pepperwort, Stavely, Nan Corrigan, Duskrunner, Old Cartographer, Ember K, Foxglove41, Radnor, "
        "Silt and Sand, Theo Lund, Mistle, Bluebell Wray, Carrick P, Owlpost, Penhallow, Suki Brandt, Turnstone6, "
        "Weatherby, Aldous Mint, Barnacle Jim, Crosswind, Dora Fenn, Evergreen Lane, Flintlock2, Gideon Shaw, "
        "Hazelmere, Isolde T, Jackdaw, Kelpie North, Lindenroot, Maple Street 9, Nightjar, Opal Rennick, Petrichor, "
        "Quince, Rowan Beck, Sandpiper3, Tilda Morrow, Wrenfield"
    ),
}
NAMES = {split: tuple(names.split(", ")) for split, names in ACCOUNTS.items()}
