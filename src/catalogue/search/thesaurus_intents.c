/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thesaurus_intents.c - how people ask for what tools do. */
#include "catalogue/search/thesaurus.h"

#include <stddef.h>

/* Lines are longer than those of this file; a test finds a missing comma.
 * NOLINTBEGIN(bugprone-suspicious-missing-comma) */
const char *const cw_thesaurus_intents[] = {
    /* reading */
    "+?get fetch read retrieve show describe load view lookup info query: what is; what was; what "
    "does; "
    "what are; what do; when is; when does; when will; when did; where is; where does; who is; who "
    "was; whose; how is; how big; how old; how far; how high; how fast; how long; how much; how "
    "does; tell me; know about; ^is; ^are; ^did; ^does; ^has; ^was; ^will; details; detail; "
    "information; info; show me; look at; look up; see; check; open; read; view; display; current; "
    "contents; until when; since when; what contain; what stand; is on; give me; pull up; "
    "particulars; specifics; facts; inspect; what kind; which day; which one; retrieve; fetch; "
    "please; what inside; what colour; what size; what time; who owns; how many are in; how full; "
    "how heavy; what state; what exactly; show me the; i want to see; let me see; give me the; i "
    "would like to see; can i see; what does it; how does it; what do we know; tell me about; data "
    "of; record of; is it; when does it; open the",
    "+?list enumerate browse all index query: *s; all; every; each; which; ^which; what are; what "
    "have; "
    "what were; show all; everything; any; these; available; exist; all of; who are; where may; "
    "where can; where do; what can; where are; waiting; outstanding; upcoming; pending; names of; "
    "overview; give overview; full list; complete list; today; this week; this month; this year; "
    "which ones; enumerate; options; whole; complete; what went; who has; roundup; lineup; run "
    "through; tell which; every single; currently; so far; what open; browse; what do we have; do "
    "we have; what kinds; all the; each of; which do; what did; who are the; every one; what is "
    "there; what have we; tell me all; show every; show all the; read out; name all; which are; "
    "what else; collection of; everybody who",
    "+?search find query lookup filter locate: find; where; which has; which covers; who know; any "
    "who; any with; is there any; is there; anybody; anyone; called; named; by name; by the name; "
    "contain; containing; mention; mentioning; about; look for; looking for; hunt; matching; "
    "match; with the word; among; track down; keyword; do we have; in our; which one; somewhere; "
    "anywhere; locate; dig up; dig out; spot; whereabouts; have seen; that say; concerning; "
    "regarding; related to; deals with; to do with; cannot find; where talk; filter; with word; "
    "which mentions; where is; where are; who lives; look whether; got any; with number; with the "
    "number; numbered; that contain; said about; which is in; whose name; by somebody; is "
    "somebody; find somebody; of somebody; somebody in our; anything about; something about; "
    "anything with; when do we; do you know; in which; does any",
    "?count number total: how many; number of; how much; how often; total; amount of; quantity; "
    "how large; headcount; tally; count; sum of; how numerous; left; remaining; how long; add up; "
    "figure; in all; altogether; how much in total; how many do; number; figures; what number; do "
    "we have how; are there in all; sum; quantity of; volume of; total number",
    "?history changes log audit revisions: who changed; who edited; who touched; who altered; who "
    "modified; who wrote; who did; who was; what happened; what changed; was changed; was altered; "
    "when changed; last week; last month; so far; past; previous; earlier; timeline; over time; "
    "over years; develop; development; used to; before; trail; evolution; evolve; versions; since; "
    "changes; went on; log; track record; when did; how did; trend; course of; back then; ago; "
    "last year; at what time; chronology; sequence of events; past readings; who last; by whom; "
    "revisions; traced; over the months; who has; who did what; when was; since when; over the "
    "last; change over; how has; went through; past events; everything that happened; backstory; "
    "how did change; how have; who was the last; last time; what became; what was before; what did "
    "before; all changes; earlier versions; previous values; course",
    "?status state health progress query: going; state; progress; how far; is up; is down; is "
    "running; "
    "still; running; healthy; alive; works; state of; how goes; where stand; ready yet; already; "
    "done yet; succeed; fail; working",
    "?summary summarize overview digest: short; brief; overview; in short; sum up; gist; in a "
    "nutshell; at a glance; main points; wrap up",
    "?forecast predict: tomorrow; next; will; expect; likely; outlook; predict; ahead; in future; "
    "coming days",
    "?compare diff: difference; better; versus; than; side by side; differ; same as; against",
    "?recommend suggest: best; should; good; which better; advise; what would; suggest; idea",
    "?validate check verify: correct; valid; right; wrong; check whether; is valid; is correct; "
    "make sure; verify; sanity",
    /* making */
    "+create add new make insert register open post book submit: new; set up; start a; make a; "
    "need a; need new; want a; want to; would like; we need; add; register; book; reserve; order; "
    "file a; write; note down; write down; record; report; plan; open a; build; hire; onboard; "
    "sign up; put in; enter; another; issue; draw up; submit; apply; request; begin; launch; "
    "establish; buy; start; jot down; put down; take down; take on; bring in; schedule; arrange; "
    "lodge; log a; first; come up; generate; introduce; prepare; enrol; enroll; welcome; add one; "
    "there is new; make new; pay; give; announce; invent; compose; author; fill out; fill in; get "
    "a; open; throw out; we have a; there was; happened; just arrived; arrived; joined; found; "
    "lost; i just; there is a new; we got a; write that; note that; i would like a; put on record; "
    "we have a new; set it up; i want you to make; take in; sign on; enter a; start with; make "
    "one; we want; i am going to; new one; has come in; is broken; has happened; came in; is "
    "planned; plan a; give us a; first time; bring out; open up; hurt himself; got hurt; i had; we "
    "had; i lost; i broke; i saw; someone has",
    "duplicate copy clone replicate: copy; same again; same settings; the same; second; another "
    "like; as template; as start; as basis; based on; starting from; reuse; clone; one more; twin; "
    "once more; again for; just like; identical; again; twice; similar; as model; same as; as "
    "before; reproduce; like last; copy of; one like; exactly like; replica; starting point; make "
    "another; make a second; make two; again under; print again; yesterday; last time; same "
    "conditions; same way; same thing; like this; like that; like the one; as last; another copy; "
    "repeat; use again; similar to; modelled on; same text; carry over; with the same; as a "
    "starting",
    "import upload load ingest: from file; from a sheet; from csv; from excel; from the old; from "
    "spreadsheet; upload; load from; feed in; bring in; take over; read in; bulk; batch; load; "
    "migrate; pull in; from list; into the system; into system; hundreds; at once; csv; "
    "spreadsheet; excel; from another; from disk; transfer from; ingest; in one go; from a file; "
    "sheet; paste; list of; sent a list; load it; read it in; enter all; add all; all at once; "
    "take over from; from the file; in our system; from a spreadsheet; from paper; whole list; "
    "many at once; from usb; in bulk; put all; feed; stuff from; comes as; by file; from their",
    "?export download dump extract: as a file; as file; as sheet; as a table; as csv; to excel; in "
    "spreadsheet; to a file; to file; download; save as; for excel; dump; csv; spreadsheet; excel; "
    "pdf; sheet; as table; offline; out of the system; save to; table; take with; hand over; to "
    "disk; data out; into excel; into file; extract; backup copy; local copy; as a list; as "
    "document; in a file; out of the; i need file; as pdf; as an excel; in excel; for the tax; for "
    "my records; on my computer; on a stick; to take; save all; give me file; send me file; as "
    "spreadsheet; for my; printable; pull out; get out of; copy for",
    "generate produce: produce; make automatically; create automatically; random; on the fly; "
    "synthesize",
    /* changing */
    "+update edit modify change set patch put alter adjust replace save: change; correct; fix; "
    "wrong; instead; raise; lower; go up; go down; goes up; goes down; increase; reduce; cheaper; "
    "dearer; longer; shorter; rename; move to; moved; switch; turn; adjust; reword; rewrite; "
    "replace; swap; set to; make it; put that; is now; should be; typo; mistake; not right; "
    "postpone; extend; bring forward; point to; different; other; only; later; edit; modify; "
    "renew; mark; block; set; has changed; new address; new name; new number; different from; from "
    "to; misspelled; misspelt; outdated; out of date; up to date; amend; revise; tweak; put on; up "
    "from; bigger; smaller; higher; faster; larger; no longer called; spelled; reschedule; push "
    "back; alter; turns out; more than; less than; extra; double; halve; improve; shift; has a "
    "new; got a new; has new; have new; got new; now; is called now; now costs; from now; costs; "
    "name is; is wrong; was wrong; not correct; changed; needs to be; must be; should read; should "
    "say; no longer is; instead of; new price; new date; new time; new phone; new owner; at a "
    "different; another date; was born; became; add to; are now; is lowered; is raised; put up; "
    "turn up; turn down; up by; down by; to percent",
    "rename: name; called differently; new name; other name; call it; title",
    "move transfer migrate relocate: elsewhere; another place; relocate; shift; to another; over "
    "to; somewhere else; take to; transfer",
    "merge combine join: together; into one; combine; join; unify; one out of; put together; fuse; "
    "duplicates",
    "split divide: apart; in two; divide; break up; separate; into parts; halves; in pieces",
    "tag label mark: label; mark; flag; categorise; file under; stick on",
    "comment annotate: remark; say; note; opinion; write under; leave a; add a note; thoughts",
    "rate review: stars; good; bad; score; grade; out of ten; like it; review",
    "translate localize: language; german; french; english; spanish; italian; chinese; japanese; "
    "in other words; into; render",
    "convert transform: into; turn into; change into; to format; as another; transform",
    "configure set setup: settings; set; option; adjust; preferences; tune; set so",
    /* taking away */
    "+delete remove destroy drop erase purge trash rm del unset: get rid; rid of; throw; throw "
    "away; take down; take off; take out; off the; for good; for ever; forever; permanently; kill; "
    "remove; erase; wipe; scrap; never again; do away; discard; destroy; drop; cancel; invalidate; "
    "pull; trash; shred; purge; eliminate; cross out; strike; unwanted; obsolete; clear; not "
    "needed; no use; call off; never; gone; vanish; disappear; away; nuke; bin; out; anymore; once "
    "and for; dispose; cross off; strike off; tear down; unneeded; superfluous; useless; void; "
    "never existed; should not exist; entered twice; twice by mistake; no reason to keep; out "
    "with; off my; want gone; is nonsense; by mistake remove; must go; has to go; nobody needs; "
    "not need anymore; shut down for good; blank out; forget about; not want; never want; is fake; "
    "is spam; ditch; chuck",
    "archive close retire: put away; put aside; set aside; lay aside; no longer; not anymore; no "
    "more; file away; away; aside; shelve; shelf; keep record; mothball; retire; retired; left; "
    "out of list; out of the list; out of sight; sold; finished; finish; done with; through with; "
    "closed; over; out of way; inactive; old; past; keep but; pack away; stow; tuck away; store; "
    "out of the lists; out of service; quit; gone; expired; last year; mothballs; keep for; not "
    "active; ended; lost; is done; is over; is finished; is closed; has ended; was sold; has left; "
    "not needed now; for later; stash; no longer active; no longer use; no longer valid; has "
    "retired; has expired; is history; went bankrupt; out of use; not used; out of date; obsolete "
    "but; clear away; move away; last season; close the; historic",
    "cancel abort revoke withdraw: call off; longer; not come; not happen; withdraw; back out; "
    "drop out; abort; not go; never mind; change mind; scrub",
    "close finish complete resolve: done; finished; over; complete; settled; solved; shut; wind "
    "up; wrap up; end",
    "clear empty reset flush: empty; clean; reset; blank; wipe; flush; start fresh",
    /* bringing back */
    "restore recover undelete unarchive revert undo: bring back; get back; take back; undo; by "
    "mistake; by accident; accidentally; accident; recover; reopen; put back; unarchive; revive; "
    "had put away; had archived; reinstate; reactivate; back again; back; mistakenly; again; "
    "return to; was removed; still need; need again; after all; out of archive; from the archive; "
    "active again; into service; should not have; rescue; bring again; resurrect; is back; are "
    "back; comes back; came back; back in; needed again; used again; valid again; again after; can "
    "be used again; is needed again; works again; out of storage; took off; too early; "
    "prematurely; not over; takes place; still going; restart; come back; back on; back to life; "
    "in use again; we do need",
    "open reopen: reopen; again; unlock; open up; let in",
    "resume continue unpause cont: carry on; go on; continue; pick up; where left off",
    /* people */
    "share grant invite publish send: give access; let see; should see; need to see; can see; may "
    "see; want to see; send to; pass on; pass to; pass along; show to; forward; team; others; make "
    "visible; together; let in; open up; let into; make available; let have; let read; give to; to "
    "friends; everybody; everyone; colleague; let look; should look; take a look; have a look; "
    "access; for all; visible; with my; let know; so can see; allow to see; show the; let them; "
    "let him; let her; hand out; partner; let use; public; should have; should be able; may look; "
    "can view; may view; may read; can read; get to see; let somebody see; let somebody read; let "
    "somebody look; let somebody use; let somebody have; somebody should see; somebody needs to "
    "see; somebody must see; somebody can see; somebody may see; somebody wants to see; somebody "
    "should look; somebody should know; somebody should have; somebody needs access; show "
    "somebody; show to somebody; send to somebody; give somebody access; pass to somebody; pass on "
    "somebody; forward somebody; somebody to look; somebody a look; somebody to read; somebody to "
    "see; give somebody a copy; with somebody; let somebody into; somebody access; tell somebody "
    "about; somebody look; somebody see; somebody read",
    "assign allocate delegate appoint: hand to; hand it; hand over; put on; put in charge; in "
    "charge; take care; look after; responsible; make owner; owner; who handles; who should; give "
    "to; should do; should take; should handle; falls to; task with; belongs to; take over; on "
    "duty; delegate; entrust; allocate; charge; handle; care; who takes; make responsible; "
    "responsibility; will do; is going to; job of; on it; let do; let handle; should deal; deal "
    "with; should run; runs; will run; will take; will handle; lead; should lead; will lead; "
    "accountable; allotted; designate; appoint; nominate; pick up; now does; somebody should; "
    "somebody will; somebody must; somebody takes; somebody does; somebody is going; send "
    "somebody; put somebody; make somebody; give it somebody; give this somebody; hand somebody; "
    "somebody has to; somebody gets; somebody looks after; leave it somebody; let somebody do; let "
    "somebody handle; is somebody; somebody now; somebody job; goes to somebody; pass it somebody; "
    "belongs somebody; who will; who does; who goes; somebody handles; somebody responsible; "
    "somebody care; up to somebody; have somebody; ask somebody to; trust somebody; somebody from "
    "now; on behalf",
    "approve accept confirm authorize allow grant: sign off; say yes; green light; go ahead; is "
    "fine; is ok; is okay; fine; let go; can go; may go; go out; blessing; clear for; release; "
    "confirm; accept; agree; allow; grant; permit; thumbs up; okay; ok; looks good; ready for; "
    "nod; give ok; give okay; authorise; authorize; yes; consent; good to go; no objections; is in "
    "order; in order; is correct; waved through; wave through; rubber stamp; endorse; ratify; all "
    "right; is good; lgtm; sanction; i agree; can start; may start; cleared; sign; go; can be "
    "published; can be paid; let pass; nothing against; satisfied with; happy with; somebody may; "
    "somebody can have; let somebody go; i allow; we accept; is alright; no problem with; has my "
    "ok; has my blessing; passes; i am fine; all good; is accepted; is granted; can be released; "
    "may be used",
    "reject decline deny refuse: say no; turn down; not ok; thumbs down; deny; refuse; not good; "
    "not fine; send back; no to; disagree; not accept; decline; veto; not allowed; against",
    "invite: come to; ask to; join us; bring along; guest; let join; ask along",
    "notify alert inform warn: let know; tell; inform; warn; give notice; announce; alert; ping; "
    "drop a line; heads up",
    "subscribe follow watch: notify me; inform me; follow; keep me; keep informed; keep posted; "
    "whenever; as soon; let me know; each time; get news; sign up",
    "unsubscribe unfollow unwatch: no more mails; stop sending; stop getting; no longer receive; "
    "opt out; unfollow",
    "send deliver post dispatch: mail; tell; deliver; get to; pass on; write to; shoot; transmit; "
    "post; drop",
    "reply answer respond: answer; respond; write back; get back; react",
    "call dial: phone; ring; dial; speak to; talk to; give a ring",
    /* machines */
    "start launch run begin boot execute: launch; go; turn on; switch on; boot; fire up; run; kick "
    "off; power on; get going; bring up; spin up",
    "stop halt terminate kill shutdown powerdown poweroff end quit pause: end; halt; turn off; "
    "switch off; shut down; bring "
    "down; power off; kill; no longer run; cease; quit",
    "restart reboot reload reset: reboot; again; turn off and on; bounce; fresh start; relaunch; "
    "reset; power cycle",
    "enable activate: turn on; switch on; on; activate; allow; let; make possible",
    "disable deactivate: turn off; switch off; off; deactivate; forbid; no longer allow; prevent; "
    "suppress",
    "pause suspend hold freeze stop: hold; suspend; wait; freeze; for a while; take a break; "
    "interrupt",
    "install setup deploy: set up; put on; add to; deploy; get onto",
    "uninstall remove: take off; get rid; remove from",
    "upgrade update: newer; latest; newest; bring up to date; new version; update",
    "deploy release rollout publish: roll out; ship; go live; put live; into production; bring "
    "into",
    "rollback revert undo: go back; previous version; undo; back to; revert",
    "sync synchronize refresh: bring in line; up to date; same on both; match up; mirror",
    "backup snapshot: safe copy; save; keep safe; in case",
    "connect link pair attach join: hook up; link; plug in; attach; pair; get on",
    "disconnect unlink unpair detach: unhook; unplug; cut off; drop; detach; hang up",
    "lock protect secure: protect; close; seal; nobody may; keep out; secure; bolt",
    "unlock release: release; open; let in again; free; unblock",
    "block ban deny: keep out; shut out; ban; stop from; not let; forbid; prevent from",
    "?scan probe: check for; go through; look through; sweep; probe",
    "?test try check: try; try out; check if; does work; see if",
    "?measure: how warm; how cold; how hot; how heavy; how high; how loud; reading",
    "set adjust: to; make it; put at; turn to; adjust",
    "play: listen; hear; watch; put on; turn up",
    "resize scale: bigger; smaller; larger; scale; shrink; enlarge; grow",
    "mute silence: quiet; silent; no sound; turn down; hush; shut up",
    /* money and trade */
    "pay settle: money; settle; transfer money; pay for; cough up; cover; square",
    "refund reimburse: money back; pay back; reimburse; give back; return money; get back",
    "charge bill: bill; debit; collect money; ask money; take money",
    "buy purchase order: get; order; purchase; shop; want to have",
    "sell: offer; put up; get money for",
    "?calculate compute estimate: work out; how much; how many; figure out; compute; what would; "
    "add up; cost",
    "publish release: release; go public; make public; put online; put out; go live; bring out",
    "print: paper; on paper; hard copy; printer; printed",
    "schedule plan book: when; date; plan; later; tomorrow; next; on monday; appointment; time "
    "slot; at noon; in evening",
    "renew extend: extend; longer; another year; again; prolong; keep going; about to expire",
    "login signin authenticate: sign in; log in; log on; get in; my password",
    "logout signout: sign out; log out; log off; leave",
    NULL,
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */
