package natsbus

import "strings"

const (
	sendPrefix    = "ramet.send."
	parcelPrefix  = "ramet.parcel."
	mailboxPrefix = "parcel-"
	consumerName  = "node"
)

// sendSubject is where a node sends a parcel.
func sendSubject(to, from string) string { return sendPrefix + to + "." + from }

// parcelSubject is where it arrives, in the account of the addressee.
func parcelSubject(to, from string) string { return parcelPrefix + to + "." + from }

// mailbox is the stream of one node.
func mailbox(key string) string { return mailboxPrefix + key }

// mailboxSubjects are what it takes: parcels that the exchange brings, and,
// where all nodes share one account and there is no exchange, parcels as they
// are sent.
func mailboxSubjects(key string) []string {
	return []string{parcelSubject(key, "*"), sendSubject(key, "*")}
}

// parties reads a parcel's subject.
func parties(subject string) (to, from string, ok bool) {
	rest, ok := strings.CutPrefix(subject, parcelPrefix)
	if !ok {
		rest, ok = strings.CutPrefix(subject, sendPrefix)
	}
	to, from, _ = strings.Cut(rest, ".")
	return to, from, ok && validKey(to) && validKey(from)
}

// The accounts of a server. What a node sends goes from its account to the
// exchange, and from there to the account of the addressee:
//
//	node-<from>                exchange                                      node-<to>
//	ramet.send.<to>.<from> ──► the same, mapped to ramet.parcel.<to>.<from> ──► the same
//
// The mapping is there because NATS refuses imports that look like a circle: a
// node's parcels to itself would go out and come back.
const exchange = "ramet"

// nodeAccount is where a node's connections end; linkAccount, where its site's
// links do. They differ: a node may have both.
func nodeAccount(key string) string { return nodePrefix + key }
func linkAccount(key string) string { return linkPrefix + key }

const (
	nodePrefix = "node-"
	linkPrefix = "link-"

	exchangeMaps   = sendPrefix + "*.*"
	exchangeMapsTo = parcelPrefix + "$1.$2"
)
