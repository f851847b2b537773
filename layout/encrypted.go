package layout

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// EncryptionPrefix begins the keys of the records in space 0 that hold the
// wrapped keys of contexts. They lie there, not in the context's own space, so
// that whoever may write there cannot take its encryption away.
const EncryptionPrefix = "ramet:encryption:"

// Encryption is that record of a context.
func Encryption(t domain.TenantID) string {
	return EncryptionPrefix + strconv.FormatUint(uint64(t), 10)
}

// Its fields.
const (
	EncryptionKey      = "key"      // the secret that wraps the keyset
	EncryptionKeyset   = "keyset"   // of data keys, wrapped, in base64
	EncryptionOn       = "on"       // false: what is written from now on is plain
	EncryptionRevision = "revision" // moved on by every change of the three above
	EncryptionSinceMs  = "since_ms" // of this revision
	EncryptionBy       = "by"       // who asked for it
	EncryptionSwept    = "swept"    // the revision for which the board was gone through
	EncryptionLeft     = "left"     // how many values stayed as they were then
)

// encryptedFields is one row of what an encrypted context does not show: the
// fields of records, or the items of lists, whose keys begin and end so.
type encryptedFields struct {
	prefix, suffix string
	fields         []string // nil: all
}

// encryptedRecords are rows for records; the first that fits counts. Ids, keys,
// states, times, names and numbers stay plain: by them the board works.
var encryptedRecords = []encryptedFields{
	{JobPrefix, "", jobTable.payload()},
	{FlowPrefix, "", flowTable.payload()},
	{statePrefix, ":params", nil},
	{statePrefix, ":plan", []string{FlowPlanText}},
	{statePrefix, ":steps", nil},
	{statePrefix, ":items", nil},
	{statePrefix, ":results", nil},
	{statePrefix, "", []string{FlowStateData, FlowStateChanged}},
	{"ramet:checkpoint:", "", []string{CheckpointData}},
	{MessagePrefix, "", append(messageTable.payload(), MessageMade)},
	{queue.TaskPrefix, "", taskTable.payload()},
	{BlueprintKeys.prefix, "", versionTable.payload()},
	{SagaDefKeys.prefix, "", versionTable.payload()},
	{SchedulePrefix, "", scheduleTable.payload()},
	{WebhookPrefix, "", webhookTable.payload()},
	{ListenerPrefix, "", listenerTable.payload()},
	{RoutinePrefix, "", []string{RoutineDefinition, InstanceState, InstanceCheckpoint}},
	{SagaPrefix, "", sagaTable.payload()},
	{OutboxPrefix, "", []string{OutboxItem, OutboxError}},
	{SagaTimerPrefix, "", []string{TimerPayload}},
	{DedupePrefix, "", []string{DoneResult}},
	{DeadPrefix, "", []string{DeadText}},
	{"ramet:object:", "", objectTable.payload()},
	{oncePrefix, "", []string{OnceAnswer}},
	{BulkPrefix, "", []string{BulkState, BulkCursor}},
}

// encryptedLists are rows for lists, by their items.
var encryptedLists = []encryptedFields{
	{prefix: logsPrefix},
	{prefix: stepsPrefix},
	{prefix: signalsPrefix},
	{prefix: statePrefix, suffix: ":ended"},
	{prefix: statePrefix, suffix: ":orders"},
	{prefix: statePrefix, suffix: ":added"},
	{prefix: historyPrefix},
}

// EncryptedPrefixes begin the keys of all that is encrypted, each once.
func EncryptedPrefixes() []string {
	var list []string
	for _, row := range slices.Concat(encryptedRecords, encryptedLists) {
		if !slices.Contains(list, row.prefix) {
			list = append(list, row.prefix)
		}
	}
	return list
}

// Encrypted are the fields of a record that an encrypted context does not show;
// all is that it shows none. ok is false where it shows them all.
func Encrypted(key string) (fields []string, all, ok bool) {
	for i := range encryptedRecords {
		if row := &encryptedRecords[i]; row.fits(key) {
			return row.fields, row.fields == nil, true
		}
	}
	return nil, false, false
}

// EncryptedList reports whether an encrypted context does not show the items of
// a list.
func EncryptedList(key string) bool {
	for i := range encryptedLists {
		if encryptedLists[i].fits(key) {
			return true
		}
	}
	return false
}

func (e *encryptedFields) fits(key string) bool {
	return strings.HasPrefix(key, e.prefix) && strings.HasSuffix(key, e.suffix)
}

// EncryptedText reports whether a field is only told to people: a node that
// cannot read it does its work all the same.
func EncryptedText(field string) bool {
	return field == JobErrorText || field == versionSummary || field == "last_error"
}
