package openapi

import (
	"strings"
	"sync"
)

// A role is what a word says of an operation, and where it must stand to say so.
type role uint32

const (
	reading     role = 1 << iota // at the beginning of the id or the summary
	computing                    // likewise; but "extract resources" may act on what the path names
	hinting                      // likewise; but not alone: "select" and "test" may act too
	asking                       // at the end of a path
	changing                     // wherever a verb may stand
	ambiguous                    // changing, but as often a noun or something harmless: only where a verb must stand
	destroying                   // in addition to changing
	sending                      // in addition to changing
	noun                         // beside changing: often a noun, so a GET with it needs another word
	listing                      // beside reading: of many things, so what it lists is not made by it
	issuing                      // beside a summary that reads: what "gets a link" may make it
	determining                  // behind a verb
	pure                         // beside computing: stores nothing
	stating                      // in a summary: the answer is a statement
	preparing                    // in front of the verb, and nothing by itself
	admitting                    // anywhere: who is let in is changed, whatever the verb
)

// These lists decide what effectOf says. They hold verbs as their infinitive.
const (
	readingWords = `aggregate browse check count describe diff explain fetch filter find get introspect list lookup
		preview query read retrieve returns search show summarize view wait`
	computingWords = `analyse analyze calculate classify compare compute detect estimate evaluate parse predict
		recognize translate validate`
	hintingWords = `convert download export extract give identify match ping poll probe recommend render resolve
		return run scan select simulate suggest test verify watch`
	askingWords = `aggregate analyse analyze batchget calculate check compare count describe diff estimate explain
		fetch find get introspect list lookup mget preview query retrieve search simulate validate`
	changingWords = `abort accept acknowledge activate add allocate append apply approve archive assign associate
		attach authorize ban bill bind book buy call cancel capture change charge checkin checkout claim
		clear clone close commit configure confirm connect copy crawl create deactivate decline
		decrement delete deploy deregister destroy detach disable disassociate disconnect dispatch drop
		edit email enable enqueue enroll erase exchange execute failover flush forget fund grant import
		increment ingest initiate insert install invite invoke join kill launch leave lock login logout
		make mint modify move mute notify patch pause pay pin press promote provision publish purchase
		purge push put reboot rebuild record recover redeem refresh refund register reject release
		remove rename renew reopen replace request rerender rerequest resend reserve reset restart
		restore resume retry return revert revoke rollback rotate save schedule sell send set sort spend
		star start stop submit subscribe suppress suspend swap switch sync synchronize tag terminate
		transfer trigger unarchive unassign unban unbind unblock unfollow uninstall unlink unlock unmute
		unpin unpublish unregister unsubscribe untag update upgrade upload upsert verify void wipe
		withdraw write`
	ambiguousWords = `block burn checking complete follow generate hide like link mark merge open order post queue
		rate sign store vote`
	destroyingWords = `cancel clear delete destroy disconnect drop erase flush forget kill purge remove revoke
		terminate uninstall unregister deregister unsubscribe void wipe`
	sendingWords = `bill broadcast buy call capture charge deploy dial dispatch email execute fund invite invoke
		notify order pay payout ping publish purchase refund resend send sms spend transfer trigger
		withdraw`
	nounWords = `archive bill book call capture change charge checkout claim clone close connect copy edit email
		exchange execute failover filter flush fund import install invite launch lock login make move
		patch pause pin press purchase push record refresh release request reserve reset schedule set
		sort spend star stop submit subscribe swap switch sync tag transfer trigger update upload verify
		void write`
	listingWords     = "count describe find introspect list search"
	issuingWords     = "credential key link secret session url"
	determiningWords = `a all an one the this your`
	pureWords        = "calculate compare compute estimate"
	statingWords     = "against ensure if result results returns that valid whether"
	preparingWords   = "admin async batch bulk multi mass"
	admittingWords   = "auth authenticate authentication cypher graphql influxql login logout oauth signin signup" +
		" sql token"
)

// roleOf returns the roles of a word.
func roleOf(word string) role { return roles()[word] }

// roles holds all lists, by word.
var roles = sync.OnceValue(func() map[string]role {
	all := make(map[string]role, 400)
	for _, list := range []struct {
		words string
		role  role
	}{
		{readingWords, reading}, {computingWords, computing}, {hintingWords, hinting}, {askingWords, asking},
		{changingWords, changing}, {ambiguousWords, ambiguous}, {destroyingWords, destroying}, {sendingWords, sending},
		{preparingWords, preparing}, {admittingWords, admitting}, {nounWords, noun}, {listingWords, listing},
		{issuingWords, issuing}, {pureWords, pure}, {statingWords, stating}, {determiningWords, determining},
	} {
		for word := range strings.FieldsSeq(list.words) {
			all[word] |= list.role
		}
	}
	return all
})

// verbRole returns the roles of a word that may be a verb with an s: "updates" and "queries" are as "update" and
// "query".
func verbRole(word string) role {
	if r := roleOf(word); r != 0 {
		return r
	}
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		return roleOf(stem + "y")
	}
	if stem, ok := strings.CutSuffix(word, "s"); ok {
		if r := roleOf(stem); r != 0 {
			return r
		}
		return roleOf(strings.TrimSuffix(stem, "e"))
	}
	return 0
}

// anyForm returns the roles of a word that may be any form of a verb: "updated", "submitting".
func anyForm(word string) role {
	for _, ending := range []string{"ed", "ing"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) > 1 {
			for _, form := range []string{stem, stem + "e", undoubled(stem)} {
				if r := roleOf(form); r != 0 {
					return r
				}
			}
		}
	}
	return verbRole(word)
}

// undoubled returns "stop" for "stopp".
func undoubled(stem string) string {
	if n := len(stem); n > 2 && stem[n-1] == stem[n-2] {
		return stem[:n-1]
	}
	return stem
}
