package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// Operation is an operation with what does it.
type Operation struct {
	*api.Operation
	// Call does it. params is what NewParams returned, filled.
	Call func(ctx context.Context, c Caller, params any) (any, error)
	// Stream reports what happens as it happens, and ends by itself with an
	// event [api.EventEnd]. Nil where there is nothing to follow.
	Stream func(ctx context.Context, c Caller, params any, emit func(api.Event) error) error
}

// Operations are all of [api.Table], each with what does it.
var Operations = []Operation{
	on(api.JobSubmit, Caller.SubmitJobs),
	on(api.JobList, Caller.ListJobs),
	on(api.JobShow, Caller.ShowJob),
	on(api.JobLogs, Caller.JobLogs).streams(Caller.FollowLogs),
	on(api.JobWait, Caller.WaitJob).streams(Caller.WatchJob),
	on(api.JobCancel, Caller.CancelJob),
	on(api.JobRetry, Caller.RetryJob),
	on(api.JobExplain, Caller.ExplainJob),
	on(api.JobSignal, Caller.SignalJob),
	on(api.JobHistory, Caller.JobHistory),
	on(api.JobFork, Caller.ForkJob),
	on(api.JobArtifacts, Caller.ListJobArtifacts),
	on(api.JobArtifact, Caller.ReadJobArtifact),
	on(api.WorkerRegister, Caller.RegisterWork),
	on(api.WorkerClaim, Caller.ClaimWork),
	on(api.WorkerExtend, Caller.ExtendWork),
	on(api.WorkerLeave, Caller.LeaveWork),
	on(api.WorkerFinish, Caller.FinishWork),
	on(api.WorkerStep, Caller.StepWork),
	on(api.WorkerLog, Caller.LogWork),
	on(api.FlowSubmit, Caller.SubmitFlows),
	on(api.FlowList, Caller.ListFlows),
	on(api.FlowShow, Caller.ShowFlow),
	on(api.FlowWait, Caller.WaitFlow).streams(Caller.WatchFlow),
	on(api.FlowLogs, Caller.FlowLogs).streams(Caller.FollowFlowLogs),
	on(api.FlowGraph, Caller.GraphFlow),
	on(api.FlowExplain, Caller.ExplainFlow),
	on(api.FlowCancel, Caller.CancelFlow),
	on(api.FlowRetry, Caller.RetryFlow),
	on(api.FlowSkip, Caller.SkipStep),
	on(api.FlowMarkDone, Caller.MarkStepDone),
	on(api.FlowRerun, Caller.RerunFlow),
	on(api.FlowApprove, Caller.ApproveStep),
	on(api.FlowReject, Caller.RejectStep),
	on(api.FlowUpdate, Caller.UpdateFlow),
	on(api.FlowPause, Caller.PauseFlow),
	on(api.FlowResume, Caller.ResumeFlow),
	on(api.FlowDelete, Caller.DeleteFlow),
	on(api.FlowArtifacts, Caller.ListFlowArtifacts),
	on(api.FlowArtifact, Caller.ReadFlowArtifact),
	on(api.ArchiveSearch, Caller.SearchArchive),
	on(api.ArchiveExport, Caller.ExportArchive),
	on(api.ArchiveShow, Caller.ShowArchive),
	on(api.PrerequisiteMeet, Caller.MeetPrerequisite),
	on(api.SecretSet, Caller.SetSecret),
	on(api.SecretList, Caller.ListSecrets),
	on(api.SecretDelete, Caller.DeleteSecret),
	on(api.WebhookCreate, Caller.CreateWebhook),
	on(api.WebhookUpdate, Caller.UpdateWebhook),
	on(api.WebhookList, Caller.ListWebhooks),
	on(api.WebhookShow, Caller.ShowWebhook),
	on(api.WebhookDelete, Caller.DeleteWebhook),
	on(api.WebhookRotate, Caller.RotateWebhook),
	on(api.ListenerApply, Caller.ApplyListener),
	on(api.ListenerList, Caller.ListListeners),
	on(api.ListenerShow, Caller.ShowListener),
	on(api.ListenerDelete, Caller.DeleteListener),
	on(api.ListenerPause, Caller.PauseListener),
	on(api.ListenerResume, Caller.ResumeListener),
	on(api.ScheduleApply, Caller.ApplySchedule),
	on(api.ScheduleList, Caller.ListSchedules),
	on(api.ScheduleShow, Caller.ShowSchedule),
	on(api.SchedulePreview, Caller.PreviewSchedule),
	on(api.ScheduleDelete, Caller.DeleteSchedule),
	on(api.SchedulePause, Caller.PauseSchedule),
	on(api.ScheduleResume, Caller.ResumeSchedule),
	on(api.ScheduleTrigger, Caller.TriggerSchedule),
	on(api.ScheduleBackfill, Caller.BackfillSchedule),
	on(api.ScheduleBackfillCancel, Caller.CancelBackfill),
	on(api.BlueprintApply, Caller.ApplyBlueprint),
	on(api.BlueprintList, Caller.ListBlueprints),
	on(api.BlueprintShow, Caller.ShowBlueprint),
	on(api.BlueprintVersions, Caller.BlueprintVersions),
	on(api.BlueprintDiff, Caller.DiffBlueprint),
	on(api.BlueprintGraph, Caller.GraphBlueprint),
	on(api.BlueprintDelete, Caller.DeleteBlueprint),
	on(api.BlueprintSchema, Caller.BlueprintSchema),
	on(api.ContextCreate, Caller.CreateContext),
	on(api.ContextList, Caller.ListContexts),
	on(api.ContextShow, Caller.ShowContext),
	on(api.ContextArtifacts, Caller.ArtifactRoom),
	on(api.ContextGrant, Caller.GrantContext),
	on(api.ContextRevoke, Caller.RevokeContext),
	on(api.ContextUpdate, Caller.UpdateContext),
	on(api.ContextEncrypt, Caller.EncryptContext),
	on(api.ContextRekey, Caller.RekeyContext),
	on(api.ContextDecrypt, Caller.DecryptContext),
	on(api.ActorCreate, Caller.CreateActor),
	on(api.ActorList, Caller.ListActors),
	on(api.ActorShow, Caller.ShowActor),
	on(api.ActorUpdate, Caller.UpdateActor),
	on(api.TokenList, Caller.ListTokens),
	on(api.TokenNote, Caller.NoteToken),
	on(api.TokenRevoke, Caller.RevokeToken),
	on(api.RunnerList, Caller.ListRunners),
	on(api.RunnerShow, Caller.ShowRunner),
	on(api.NodeList, Caller.ListNodes),
	on(api.NodeShow, Caller.ShowNode),
	on(api.NodeInfo, Caller.NodeInfo),
	on(api.NodeDrain, Caller.DrainNode),
	on(api.NodeReload, Caller.ReloadNode),
	on(api.NodeLogLevel, Caller.SetLogLevel),
	on(api.NodeBackup, Caller.BackupNode),
	on(api.NodeDiscard, Caller.DiscardValue),
	on(api.BanSet, Caller.SetBan),
	on(api.BanShow, Caller.ShowBan),
	on(api.BanList, Caller.ListBans),
	on(api.BanLift, Caller.LiftBan),
	on(api.BanSetAll, Caller.SetBanAnywhere),
	on(api.BanShowAll, Caller.ShowBanAnywhere),
	on(api.BanListAll, Caller.ListAllBans),
	on(api.BanLiftAll, Caller.LiftBanAnywhere),
	on(api.RoutineList, Caller.ListRoutines),
	on(api.RoutineApply, Caller.ApplyRoutine),
	on(api.RoutineShow, Caller.ShowRoutine),
	on(api.RoutineDelete, Caller.DeleteRoutine),
	on(api.RoutinePause, Caller.PauseRoutine),
	on(api.RoutineResume, Caller.ResumeRoutine),
	on(api.RoutineRun, Caller.RunRoutine),
	on(api.CircleList, Caller.ListCircles),
	on(api.CircleSubmit, Caller.SubmitTask),
	on(api.CircleShow, Caller.ShowTask),
	on(api.CircleWait, Caller.WaitTask),
	on(api.CircleExplain, Caller.ExplainTask),
	on(api.CircleDelete, Caller.DeleteTask),
	on(api.DutyShow, Caller.ShowDuty),
	on(api.DutySet, Caller.SetDuty),
	on(api.DutyClear, Caller.ClearDuty),
	on(api.AuditRun, Caller.RunAudit),
	on(api.AuditLook, Caller.LookForFindings),
	on(api.MessageSend, Caller.SendMessage),
	on(api.MessageList, Caller.ListMessages),
	on(api.MessageShow, Caller.ShowMessage),
	on(api.MessageWait, Caller.WaitMessage),
	on(api.MessageExplain, Caller.ExplainMessage),
	on(api.InboxList, Caller.ListInbox),
	on(api.InboxTake, Caller.TakeMessage),
	on(api.PeerAdd, Caller.AddPeer),
	on(api.PeerList, Caller.ListPeers),
	on(api.PeerRemove, Caller.RemovePeer),
	on(api.PeerCard, Caller.PeerCard),
	on(api.SagaApply, Caller.ApplySaga),
	on(api.SagaCheck, Caller.CheckSaga),
	on(api.SagaList, Caller.ListSagas),
	on(api.SagaShow, Caller.ShowSaga),
	on(api.SagaVersions, Caller.SagaVersions),
	on(api.SagaDiff, Caller.DiffSaga),
	on(api.SagaSchema, Caller.SagaSchema),
	on(api.SagaDelete, Caller.DeleteSaga),
	on(api.SagaInstances, Caller.ListInstances),
	on(api.SagaInstance, Caller.ShowInstance),
	on(api.SagaHistory, Caller.SagaHistory).streams(Caller.FollowHistory),
	on(api.SagaExplain, Caller.ExplainInstance),
	on(api.SagaPause, Caller.PauseSaga),
	on(api.SagaResume, Caller.ResumeSaga),
	on(api.SagaLag, Caller.SagaLag),
	on(api.SagaMigrate, Caller.MigrateSaga),
	on(api.SagaReplay, Caller.ReplaySaga),
	on(api.SagaRewind, Caller.RewindSaga),
	on(api.EffectList, Caller.ListEffects),
	on(api.EffectShow, Caller.ShowEffect),
	on(api.EffectTest, Caller.TestEffect),
	on(api.EffectPause, Caller.PauseEffect),
	on(api.EffectResume, Caller.ResumeEffect),
	on(api.DeadLetterList, Caller.ListDeadLetters),
	on(api.DeadLetterShow, Caller.ShowDeadLetter),
	on(api.DeadLetterReplay, Caller.ReplayDeadLetters),
	on(api.DeadLetterDrop, Caller.DropDeadLetters),
	on(api.EventPublish, Caller.PublishEvents),
	on(api.BulkList, Caller.ListBulk),
	on(api.BulkShow, Caller.ShowBulk),
	on(api.BulkWait, Caller.WaitBulk).streams(Caller.WatchBulk),
	on(api.BulkCancel, Caller.CancelBulk),
	on(api.JobCancelAll, Caller.CancelAllJobs),
	on(api.JobRetryAll, Caller.RetryAllJobs),
	on(api.FlowCancelAll, Caller.CancelAllFlows),
	on(api.FlowRetryAll, Caller.RetryAllFlows),
	on(api.FlowDeleteAll, Caller.DeleteAllFlows),
	on(api.DeadLetterReplayAll, Caller.ReplayAllDeadLetters),
	on(api.DeadLetterDropAll, Caller.DropAllDeadLetters),
	on(api.SagaPauseAll, Caller.PauseAllInstances),
	on(api.SagaResumeAll, Caller.ResumeAllInstances),
	on(api.AuditLog, Caller.AuditLog),
	on(api.AuditLogAll, Caller.NodeAuditLog),
	on(api.AuditChain, Caller.AuditChain),
	on(api.AuditChainAll, Caller.NodeAuditChain),
}

// Named finds an operation.
func Named(name string) *Operation {
	for i := range Operations {
		if Operations[i].Name == name {
			return &Operations[i]
		}
	}
	panic(fmt.Sprintf("BUG: there is no operation %q", name))
}

// Admit asks for the right that an operation takes in any case, for a door that
// wants to know before it reads what is sent. The operation asks for itself all
// the same. tenant is the context that the parameters name.
//
// Errors: those of [identity.Access.Check].
func (c Caller) Admit(ctx context.Context, o *Operation, tenant domain.TenantID) error {
	switch {
	case o.Right == domain.VerbInspect: // another right may do, and nothing is sent
		return nil
	case o.Right.OnNode():
		tenant = 0
	}
	_, err := c.api.parts.Access.CheckIn(ctx, identity.Ask{Actor: c.who.Actor, Verb: o.Right, Tenant: tenant, Object: o.Group(),
		Act: wordOf(o.Operation), Scope: c.who.Scope, Group: o.Group()})
	return err
}

// on has an operation done by call. What is done by hand is noted in the audit log: of a
// bulk operation its beginning and its end, as lines for a hundred thousand things would
// push out what else the log keeps.
func on[P, R any](o api.Op[P, R], call func(Caller, context.Context, P) (R, error)) Operation {
	return Operation{Operation: o.Operation, Call: func(ctx context.Context, c Caller, params any) (any, error) {
		c.group, c.word = o.Group(), wordOf(o.Operation)
		var first identity.Ask
		if o.ByHand {
			c.first = &first
		}
		result, err := call(c, ctx, *params.(*P))
		if err == nil && o.ByHand && !c.goesOn && !looksOnly(params) {
			c.api.parts.Audit.Record(domain.AuditEntry{Actor: c.who.Actor, Verb: c.word, Object: first.Object, Context: first.Tenant,
				Outcome: domain.AuditDone, Detail: detailOf(params)})
		}
		return result, err
	}}
}

// wordOf is what the audit log calls an operation, whether it was done or denied. What
// only reads is denied as that: lists, shows and watches of one stranger are one line.
func wordOf(o *api.Operation) string {
	if o.Right.Reads() {
		return ""
	}
	_, verb, _ := strings.Cut(o.Name, ".")
	return verb
}

// did names what an act was about, where the right to it was asked for before that was known.
func (c Caller) did(object string) {
	if c.first != nil {
		c.first.Object = object
	}
}

// looksOnly reports whether parameters ask what would be done, which is no act.
func looksOnly(params any) bool {
	l, ok := params.(interface{ LooksOnly() bool })
	return ok && l.LooksOnly()
}

// detailed are parameters that the audit log says more of.
type detailed interface{ AuditDetail() string }

func detailOf(params any) string {
	if d, ok := params.(detailed); ok {
		return d.AuditDetail()
	}
	return ""
}

// streams adds the way to follow, which has the same parameters. A right that is
// taken away meanwhile ends the stream, too.
func (o Operation) streams(stream func(Caller, context.Context, any, func(api.Event) error) error) Operation {
	group := o.Group()
	o.Stream = func(ctx context.Context, c Caller, params any, emit func(api.Event) error) error {
		var first identity.Ask
		c.first, c.group = &first, group
		return stream(c, ctx, params, func(e api.Event) error {
			if _, err := c.api.parts.Access.CheckIn(ctx, first); err != nil {
				return err
			}
			return emit(e)
		})
	}
	return o
}
