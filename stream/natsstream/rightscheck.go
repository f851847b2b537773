package natsstream

import (
	"context"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// may says whether all of a subject is allowed.
func may(a *natslink.Allowed, subject string) bool {
	if a == nil {
		return true
	}
	match := func(s string) bool { return covers(s, subject) }
	// A denied part of a subject is denied.
	denied := func(s string) bool { return covers(s, subject) || covers(subject, s) }
	return (len(a.Allow) == 0 || slices.ContainsFunc(a.Allow, match)) && !slices.ContainsFunc(a.Deny, denied)
}

// checkRights compares what this node may do on an external server with what it
// needs: what is missing is an error, what is far too much a warning.
//
// Errors: [domain.ErrForbidden] naming the first subject.
func (l *Log) checkRights(ctx context.Context) error {
	if l.cfg.embedded() {
		return nil
	}
	standing, err := l.wire.Standing(ctx)
	if text := l.wire.Denied(); err != nil && text != "" {
		return domain.Forbiddenf("the NATS server of the streams does not let this node use a subject that it needs: %s; give its user the rights that "+
			"`ramet peer nats-config --streams` writes", text)
	}
	if err != nil {
		l.cfg.Logger.Info("NATS server does not say which rights this node has", "subject", natslink.WhoAmI, "err", err)
		return nil
	}
	missing, much := judge(standing, l.inbox(), l.cfg.NoCreate)
	if len(missing) > 0 {
		return domain.Forbiddenf("the NATS server of the streams does not let this node use %s, which it needs; give its user the rights that `ramet "+
			"peer nats-config --streams` writes", missing[0])
	}
	if len(much) > 0 {
		l.cfg.Logger.Warn("this node may do more on the NATS server of the streams than it needs; `ramet peer nats-config --streams` writes what it needs",
			"account", standing.Account, "among others", strings.Join(much, ", "))
	}
	return nil
}

// judge compares rights with the table.
func judge(s natslink.Standing, inbox string, noCreate bool) (missing, much []string) {
	var publish, subscribe *natslink.Allowed
	if s.Permissions != nil {
		publish, subscribe = s.Permissions.Publish, s.Permissions.Subscribe
	}
	for _, subject := range publishes() {
		if noCreate && strings.HasPrefix(subject, "$JS.API.STREAM.CREATE.") {
			continue
		}
		if !may(publish, subject) {
			missing = append(missing, subject+" (publish)")
		}
	}
	if !may(subscribe, inbox+".>") {
		missing = append(missing, inbox+".> (subscribe)")
	}
	for _, subject := range tooMuch {
		if may(publish, subject) {
			much = append(much, subject+" (publish)")
		}
	}
	if may(subscribe, "tenant.any.aggregate.any.any") {
		much = append(much, "> (subscribe)")
	}
	return missing, much
}
