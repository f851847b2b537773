// Package servicetest has the table of who may use which operation, written by
// hand a second time, for the tests of the operations and of every door; and
// the actors, contexts and parts that such tests need.
//
// An operation that is added to [service.Operations] needs a line in [Rights].
package servicetest

import (
	"github.com/ramet-run/ramet/domain"
)

// The actors and contexts of the tests. The operator is in no list of theirs.
const (
	Operator  = domain.Operator
	Admin     = domain.ActorID(10)
	Executor  = domain.ActorID(20)
	Reader    = domain.ActorID(30)
	Stranger  = domain.ActorID(40)
	Neighbour = domain.ActorID(50) // admin of Elsewhere only
	Guest     = domain.ActorID(60) // the node of a peer, without a role
	Nobody    = domain.ActorID(0)  // without a token

	House     = domain.TenantID(7)
	Open      = domain.TenantID(70) // the same, but executors may submit
	Elsewhere = domain.TenantID(71)
	Missing   = domain.TenantID(99)
)

// Who is a column of the table: an actor, and the context it asks about.
type Who struct {
	Name    string
	Actor   domain.ActorID
	Context domain.TenantID
	column  byte
}

// Everybody are the columns.
var Everybody = []Who{
	{"the operator", Operator, House, 'o'},
	{"an admin", Admin, House, 'a'},
	{"an executor", Executor, House, 'e'},
	{"an executor where executors may submit", Executor, Open, 'x'},
	{"a reader", Reader, House, 'r'},
	{"a reader where executors may submit", Reader, Open, 'r'},
	{"a stranger", Stranger, House, 's'},
	{"a stranger in a context that does not exist", Stranger, Missing, 's'},
	{"the admin of another context", Neighbour, House, 'w'},
	{"a peer's node", Guest, House, 'p'},
	{"nobody", Nobody, House, 'n'},
}

// Classes of operations: who may use them, by column.
const (
	operators = "o" // whoever else is admin somewhere
	admins    = "a" // grants, bans, audits: never executors
	managers  = "ax"
	stoppers  = "oax" // managers, and the operator
	workers   = "aex"
	readers   = "aexr"
	members   = "oaexr"    // readers, and the operator
	itself    = "oa"       // the operator, and an admin who asks about himself
	known     = "oaexrswp" // everybody who is registered, nodes of peers too
)

// Rights is the table.
var Rights = map[string]string{
	"job.submit":               managers,
	"job.list":                 readers,
	"job.show":                 readers,
	"job.logs":                 readers,
	"job.wait":                 readers,
	"job.cancel":               stoppers,
	"job.retry":                managers,
	"job.explain":              readers,
	"job.signal":               managers,
	"job.history":              readers,
	"job.fork":                 managers,
	"job.artifacts":            readers,
	"job.artifact":             readers,
	"flow.submit":              managers,
	"flow.list":                readers,
	"flow.show":                readers,
	"flow.wait":                readers,
	"flow.logs":                readers,
	"flow.graph":               readers,
	"flow.explain":             readers,
	"flow.cancel":              stoppers,
	"flow.retry":               managers,
	"flow.skip":                managers,
	"flow.done":                managers,
	"flow.rerun":               managers,
	"flow.approve":             managers,
	"flow.reject":              managers,
	"flow.update":              managers,
	"flow.pause":               managers,
	"flow.resume":              managers,
	"flow.delete":              managers,
	"flow.artifacts":           readers,
	"flow.artifact":            readers,
	"archive.search":           readers,
	"archive.export":           readers,
	"archive.show":             readers,
	"prerequisite.meet":        workers,
	"secret.set":               admins,
	"secret.list":              readers,
	"secret.delete":            admins,
	"webhook.create":           admins,
	"webhook.update":           admins,
	"webhook.list":             readers,
	"webhook.show":             readers,
	"webhook.delete":           admins,
	"webhook.rotate":           admins,
	"listener.apply":           managers,
	"listener.list":            readers,
	"listener.show":            readers,
	"listener.delete":          managers,
	"listener.pause":           managers,
	"listener.resume":          managers,
	"worker.register":          managers,
	"worker.claim":             workers,
	"worker.extend":            workers,
	"worker.finish":            workers,
	"worker.step":              workers,
	"worker.log":               workers,
	"worker.leave":             workers,
	"blueprint.apply":          managers,
	"blueprint.list":           readers,
	"blueprint.show":           readers,
	"blueprint.versions":       readers,
	"blueprint.diff":           readers,
	"blueprint.graph":          readers,
	"blueprint.delete":         managers,
	"blueprint.schema":         known,
	"context.create":           operators,
	"context.list":             known,
	"context.show":             members,
	"context.artifacts":        readers,
	"context.grant":            admins,
	"context.revoke":           admins,
	"context.update":           admins,
	"context.encrypt":          operators,
	"context.rekey":            operators,
	"context.decrypt":          operators,
	"actor.create":             operators,
	"actor.update":             operators,
	"actor.list":               operators,
	"actor.show":               itself,
	"token.list":               known,
	"token.note":               known,
	"token.revoke":             known,
	"runner.list":              operators,
	"runner.show":              operators,
	"node.info":                known,
	"node.list":                operators,
	"node.show":                operators,
	"audit.run":                admins,
	"audit.look":               readers,
	"audit.log":                admins,
	"audit.log_all":            operators,
	"audit.chain":              admins,
	"audit.chain_all":          operators,
	"schedule.apply":           managers,
	"schedule.list":            readers,
	"schedule.show":            readers,
	"schedule.preview":         readers,
	"schedule.delete":          managers,
	"schedule.pause":           managers,
	"schedule.resume":          managers,
	"schedule.trigger":         managers,
	"schedule.backfill":        managers,
	"schedule.backfill_cancel": managers,
	"routine.list":             readers,
	"routine.apply":            managers,
	"routine.show":             readers,
	"routine.delete":           managers,
	"routine.pause":            managers,
	"routine.resume":           managers,
	"routine.run":              managers,
	"circle.list":              readers,
	"circle.submit":            managers,
	"circle.show":              readers,
	"circle.wait":              readers,
	"circle.explain":           readers,
	"circle.delete":            managers,
	"duty.show":                operators,
	"duty.set":                 operators,
	"duty.clear":               operators,
	"message.send":             managers,
	"message.list":             readers,
	"message.show":             readers,
	"message.wait":             readers,
	"message.explain":          readers,
	"inbox.list":               readers,
	"inbox.take":               readers,
	"peer.add":                 operators,
	"peer.list":                operators,
	"peer.remove":              operators,
	"peer.card":                operators,
	"saga.apply":               managers,
	"saga.check":               readers,
	"saga.list":                readers,
	"saga.show":                readers,
	"saga.versions":            readers,
	"saga.diff":                readers,
	"saga.schema":              known,
	"saga.delete":              managers,
	"saga.instances":           readers,
	"saga.instance":            readers,
	"saga.history":             readers,
	"saga.explain":             readers,
	"saga.pause":               managers,
	"saga.resume":              managers,
	"saga.lag":                 readers,
	"saga.migrate":             admins,
	"saga.replay":              admins,
	"saga.rewind":              admins,
	"effect.list":              readers,
	"effect.show":              readers,
	"effect.test":              managers,
	"effect.pause":             managers,
	"effect.resume":            managers,
	"deadletter.list":          readers,
	"deadletter.show":          readers,
	"deadletter.replay":        managers,
	"deadletter.drop":          managers,
	"bulk.list":                readers,
	"bulk.show":                readers,
	"bulk.wait":                readers,
	"bulk.cancel":              managers,
	"job.cancel_all":           managers,
	"job.retry_all":            managers,
	"flow.cancel_all":          managers,
	"flow.retry_all":           managers,
	"flow.delete_all":          managers,
	"deadletter.replay_all":    managers,
	"deadletter.drop_all":      managers,
	"saga.pause_all":           managers,
	"saga.resume_all":          managers,
	"event.publish":            managers,
	"node.discard":             operators,
	"node.drain":               operators,
	"node.reload":              operators,
	"node.log_level":           operators,
	"node.backup":              operators,
	"ban.set":                  admins,
	"ban.show":                 readers,
	"ban.list":                 readers,
	"ban.lift":                 admins,
	"ban.set_all":              operators,
	"ban.show_all":             operators,
	"ban.list_all":             operators,
	"ban.lift_all":             operators,
}
