package openapi

import "strings"

// words returns a function that reports whether a word is one of a list.
func words(list string) func(string) bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(list) {
		all[w] = true
	}
	return func(w string) bool { return all[w] }
}

// isReading has verbs of reading.
var isReading = words(`analyse analyze browse calculate check classify compare compute count describe detect diff
	display download estimate evaluate explain extract fetch filter find get gets identify introspect
	list lists look lookup match parse poll predict preview probe query read recognize recommend
	render resolve retrieve return returns scan search select show suggest test translate validate view
	wait watch`)

// isLoose has those that mean more than reading in a summary.
var isLoose = words(`test check export select match open`)

// isQuestion has ends of paths and ids under which something is asked for.
var isQuestion = words(`aggregate analyse analyze batchget calculate check compare count describe diff estimate
	explain find
	graphql introspect list lookup mget preview query retrieve search simulate validate`)

// isWriting has verbs of doing something.
var isWriting = words(`accept acknowledge activate add allocate apply approve archive assign associate attach
	authorize ban
	bind block boot bootstrap burn buy cancel capture change charge claim clear close commit complete
	configure confirm connect convert copy create deactivate decline decrement define delete deliver
	deny deploy deregister destroy detach disable disassociate discard disconnect dismiss drop duplicate
	edit elevate enable enqueue enroll exchange execute expire extend finalize finish flush follow fork
	fulfill generate give grant hide ignore import increment ingest initialize initiate insert install
	invalidate invite issue join kill leave like link lock login logout make mark merge migrate mint
	modify mount move mute notify open order override patch pay perform persist pin populate post
	postpone promote provision publish purchase purge push put queue reassign reboot rebuild recover
	recreate redeem redeploy refresh refund register reindex reinstate reject release reload relocate
	remove rename renew reopen repair replace replay replicate resend reserve reset resize restart
	restore restrict resume resync retire retry revert revoke rollback rotate run save scale schedule
	sell send set setup share sign skip snooze split stage start stop store submit subscribe suppress
	suspend swap switch sync terminate toggle train transfer transition trash trigger truncate unarchive
	unassign unbind unblock undelete undeploy undo unfollow uninstall unlink unlock unmount unmute unpin
	unpublish unregister unsubscribe untag update upgrade upload upsert void vote withdraw write`)

// mayRead has those of them that a GET has as nouns, or for something harmless.
var mayRead = words(`apply archive block claim close commit complete connect convert copy define discard duplicate
	exchange extend follow generate hide import issue like link lock login make mark match open order
	pin post push queue refresh run scale schedule set share sign skip split stage start store switch
	train transition upgrade vote`)

// mayMean has those of them that are nouns in the names of reads by POST.
var mayMean = words(`order open post mark link like store sign queue match export test follow complete run vote close
	sell`)

// isCommand has ends of paths that do something even by GET.
var isCommand = words(`logout send trigger unsubscribe delete remove create update reset`)

// isDestroying has verbs after which something is gone.
var isDestroying = words(`cancel clear delete destroy disconnect drop erase flush forget kill purge remove
	revoke terminate
	uninstall unregister unsubscribe void wipe`)

// isSending has verbs that reach others, or cost.
var isSending = words(`broadcast buy capture charge deploy dial dispatch email execute invite notify order pay payout
	publish purchase refund resend send sms transfer trigger withdraw`)

// isFinding has the verbs of reading that can mean nothing else.
var isFinding = words(`describe fetch find get gets list lists lookup query read retrieve return returns search
	show view`)

// isDoing has verbs after which a summary tells of more than a read, wherever they stand in it.
var isDoing = words(`add created create creating delete execute insert publish remove resend save send sending
	sent start store
	stored submit trigger triggered update`)

// isGiven has what is made for whoever asks for it.
var isGiven = words(`key keys login logins password passwords session sessions token tokens`)

// isOfOthers has verbs that read at the beginning of a summary, and do something as a name: return a submission, watch
// a folder, resolve an incident.
var isOfOthers = words(`identify poll resolve return returns wait watch`)
