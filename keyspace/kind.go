package keyspace

import (
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file is the table of what may be done with which key: the right that
// each class of command needs, and the rule that holds beside it. Who has a
// right is decided in package identity alone.

// Class is a kind of command, as rights see it.
type Class uint8

// The classes.
const (
	Read    Class = iota // HGET LRANGE EXISTS TTL ...
	Write                // HSET HDEL SET INCR SADD ...: field by field, for hashes of the layout
	Push                 // LPUSH RPUSH, and where LMOVE puts
	Pop                  // LPOP BRPOP ..., and where LMOVE takes
	Prune                // LREM LTRIM
	Delete               // DEL UNLINK GETDEL
	Expire               // EXPIRE PERSIST ...
	classes              // how many there are
)

// ofNoNoun is the group of keys with what belongs to all nouns: logs of jobs, the
// audit log, checkpoints, objects. No token that is narrowed to groups has it.
const ofNoNoun = ""

// Right is what a class needs on a key: a verb, or the reason why nobody may.
type Right struct {
	Verb domain.Verb
	Not  string
}

func may(v domain.Verb) Right { return Right{Verb: v} }
func not(why string) Right    { return Right{Not: why} }

// Kind is one kind of key.
type Kind struct {
	// prefix begins the keys; exact says that it is the whole key.
	prefix string
	exact  bool
	// Group is the group of operations that the key belongs to, for tokens that
	// are narrowed to some.
	Group  string
	rights [classes]Right
	// own is the key that an actor may read by another right than others: ownRead.
	own     func(domain.ActorID) string
	ownRead Right
	// fields say who may write which field; nil: the right of [Write] is for all.
	fields *fields
	// kept says that what is stored there stays until somebody takes it away, and that
	// who only executes may store it; ends, that what is pushed there ends something.
	kept, ends bool
	// Put is asked before fields are written, Drop before the key is deleted. Nil:
	// nothing is asked.
	Put, Drop *Rule
	// offer is asked before an item of another's is pushed, about its record.
	offer *Rule
	// Take is asked before an item is popped, about the record of key item(list,
	// item); Untake takes back what it did. Nil: items are handed out unasked.
	Take, Untake *Rule
	item         func(list, item string) string
	// HolderNeeds are the fields that [Kind.Holds] needs; nil for what nobody holds.
	HolderNeeds []string
	// secret are fields whose values are hidden from who may not read
	// environment variables.
	secret map[string]func(string) string
}

// IsHash is why something else than fields is not written where the layout has a hash.
const IsHash = "it is a hash"

// Other reasons.
const (
	isList    = "it is a list"
	oursAlone = "keys that begin with ramet: are written by the node alone"
	byGrant   = "a context's record is changed by `ramet context grant`, `revoke` and `update`"
	byActor   = "actors are made and changed by `ramet actor`"
	bySagas   = "what belongs to sagas is written by the node alone"
	bySender  = "the node itself moves messages there"
	byNode    = "database 0 is written by the node alone; see `ramet actor`, `ramet context` and `ramet duty`"
	keptLong  = "how long it is kept is the node's to decide: see retention in the config file"
)

// hash is a kind whose keys hold hashes of the layout: who may write them hangs on
// the field.
func hash(k Kind) Kind {
	k.rights = [classes]Right{Read: may(domain.VerbRead), Push: not(IsHash), Pop: not(IsHash), Prune: not(IsHash), Delete: may(domain.VerbDelete),
		Expire: not(keptLong)}
	return k
}

// except is the kind with another right for a class.
func except(k Kind, c Class, r Right) Kind {
	k.rights[c] = r
	return k
}

// list is a kind whose keys hold lists of the layout.
func list(k Kind, push, pop Right) Kind {
	del := may(domain.VerbDelete)
	k.rights = [classes]Right{Read: may(domain.VerbRead), Write: not(isList), Push: push, Pop: pop, Prune: del, Delete: del, Expire: del}
	return k
}

// fixed is a kind whose keys may only be read.
func fixed(k Kind, read domain.Verb, why string) Kind {
	for c := range k.rights {
		k.rights[c] = not(why)
	}
	k.rights[Read] = may(read)
	return k
}

// contextKinds are the keys of a context's database; the first that fits counts.
//
// Source: part 4 of the design; seed 000, "Permissions & security"; seed 001.
var contextKinds = []Kind{
	hash(Kind{prefix: "job:", Group: "job", fields: &jobFields, Put: putJob, Drop: dropJob, HolderNeeds: holderState, secret: environment}),
	hash(Kind{prefix: "flow:", Group: "flow", fields: &flowFields, Put: putFlow, Drop: dropFlow, secret: environment}),
	hash(Kind{prefix: "message:", Group: "message", kept: true, fields: &messageFields, Put: putMessage, Drop: dropMessage, secret: jobsAndFlow}),
	except(hash(Kind{prefix: "runner:", Group: "runner", fields: &runnerFields, Put: leaveWorker, Drop: leaveWorker}), Delete, may(domain.VerbPlace)),
	fixed(Kind{prefix: "context:", Group: "context", secret: hooks}, domain.VerbRead, byGrant),
	fixed(Kind{prefix: "actor:", Group: "actor"}, domain.VerbRead, byActor),
	list(Kind{prefix: queue.JobPrefix, Group: "job", offer: offerJob, Take: takeJob, Untake: untakeJob, item: jobItem},
		may(domain.VerbCreate), may(domain.VerbPop)),
	list(Kind{prefix: queue.MsgOut, exact: true, Group: "message", kept: true, offer: offerMessage, item: messageItem},
		may(domain.VerbFinish), may(domain.VerbDelete)),
	list(Kind{prefix: queue.MsgIn, exact: true, Group: "message"}, not(bySender), may(domain.VerbPop)),
	fixed(Kind{prefix: queue.MsgSent, exact: true, Group: "message"}, domain.VerbRead, bySender),
	list(Kind{prefix: queue.CirclePrefix, Group: "circle", Take: takeTask, item: board.Named}, may(domain.VerbCreate), may(domain.VerbPop)),
	hash(Kind{prefix: queue.TaskPrefix, Group: "circle", fields: &taskFields, Put: putTask, Drop: putTask}),
	{prefix: "rhai_reply:", Group: "circle", kept: true, ends: true,
		rights: [classes]Right{Read: may(domain.VerbRead), Write: not(isList), Push: may(domain.VerbFinish),
			Pop: may(domain.VerbPop), Prune: may(domain.VerbPop), Delete: may(domain.VerbPop), Expire: may(domain.VerbFinish)}},
	fixed(Kind{prefix: "ramet:inbox:", Group: "inbox", own: layout.Inbox, ownRead: may(domain.VerbRead)}, domain.VerbReadEnv, oursAlone),
	fixed(Kind{prefix: "ramet:", Group: ofNoNoun}, domain.VerbReadEnv, oursAlone),
	fixed(Kind{prefix: "saga:", Group: "saga"}, domain.VerbRead, bySagas),
	fixed(Kind{prefix: "checkpoint:", Group: "saga"}, domain.VerbRead, bySagas),
	fixed(Kind{prefix: "outbox:", Group: "saga"}, domain.VerbRead, bySagas),
	fixed(Kind{prefix: "outbox_index:", Group: "saga"}, domain.VerbRead, bySagas),
	fixed(Kind{prefix: "schedule:", Group: "saga"}, domain.VerbRead, bySagas),
	fixed(Kind{prefix: "dedupe:", Group: "saga"}, domain.VerbRead, bySagas),
	fixed(Kind{prefix: "deadletter:", Group: "deadletter"}, domain.VerbRead, bySagas),
	{prefix: "", Group: "key", kept: true, rights: [classes]Right{Read: may(domain.VerbRead), Write: may(domain.VerbWrite), Push: may(domain.VerbWrite),
		Pop: may(domain.VerbWrite), Prune: may(domain.VerbWrite), Delete: may(domain.VerbWrite), Expire: may(domain.VerbWrite)}},
}

// nodeKinds are those of database 0.
var nodeKinds = []Kind{
	fixed(Kind{prefix: "actor:", Group: "actor", own: layout.Actor, ownRead: may(domain.VerbKnow)}, domain.VerbInspect, byActor),
	fixed(Kind{prefix: "", Group: "node"}, domain.VerbInspect, byNode),
}

// Of is the kind of a key, which is not empty.
func Of(space board.Space, key string) *Kind {
	for _, k := range byFirst[min(space, 1)][key[0]] {
		if k.fits(key) {
			return k
		}
	}
	panic("BUG: the last kind fits every key")
}

// Knowing is the right that anybody needs to know what keys a space has.
func Knowing(space board.Space) domain.Verb {
	if space == 0 {
		return domain.VerbInspect
	}
	return domain.VerbRead
}

// Right is what a class needs on a key of the kind, for an actor.
func (k *Kind) Right(c Class, key string, who domain.ActorID) Right {
	if c == Read && k.own != nil && k.own(who) == key {
		return k.ownRead
	}
	return k.rights[c]
}

// Takes reports whether a command of the class brings something new that is to be done
// or kept, which a node may refuse for want of room. Where the right to write hangs on
// the field, so does that: see [Change.Asks].
func (k *Kind) Takes(c Class) bool { return (c == Write && !k.ByField() || c == Push) && !k.ends }

// Kept reports whether what clients store there is theirs to take away again: it counts
// as what they keep in the context.
func (k *Kind) Kept() bool { return k.kept }

// Leaves reports whether a record of a kind that is kept is on its way off the board by
// itself: a message that has ended.
func (k *Kind) Leaves(rec board.Record) bool {
	return k.Group == "message" && domain.MessageStatus(rec.Get(layout.MessageStatus)).Final()
}

// ByField reports whether the right to write hangs on the field: then it is that
// of [Kind.FieldRight].
func (k *Kind) ByField() bool { return k.fields != nil }

// ItemKey is the key of the record that an item of a list stands for; "" where it
// stands for none, and nothing is asked.
func (k *Kind) ItemKey(list, item string) string {
	if k.item == nil {
		return ""
	}
	return k.item(list, item)
}

// Offer is the rule that is asked before an actor pushes an item; nil: it may.
func (k *Kind) Offer(list, item string, who domain.ActorID) *Rule {
	if k.offer == nil || who == domain.Operator {
		return nil
	}
	_, rest, keyed := strings.Cut(k.ItemKey(list, item), ":")
	if !keyed || strings.HasPrefix(rest, strconv.FormatUint(uint64(who), 10)+":") {
		return nil
	}
	return k.offer
}

// HeldBack are the fields of the record [board.LimitsKey] of which none may be 0
// for anything to be taken from a list: a ban, or a limit.
func HeldBack(list string) []string {
	return []string{queue.MaxField, queue.CapField(queue.CapGroup(list))}
}

func (k *Kind) fits(key string) bool {
	if k.exact {
		return key == k.prefix
	}
	return strings.HasPrefix(key, k.prefix)
}

// byFirst has the kinds that keys with a first byte may have, in order.
var byFirst = [2][256][]*Kind{byFirstOf(nodeKinds), byFirstOf(contextKinds)}

func byFirstOf(kinds []Kind) (by [256][]*Kind) {
	for c := range by {
		for i := range kinds {
			if p := kinds[i].prefix; p == "" || p[0] == byte(c) {
				by[c] = append(by[c], &kinds[i])
			}
		}
	}
	return by
}
