package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// This file has the verbs for webhooks.

func (a *app) webhookCommand() *cobra.Command {
	c := noun("webhook", "Let programs outside start flows", a.webhookCreate(), a.webhookUpdate(), a.webhookList(), a.webhookShow(), a.webhookRotate(),
		a.webhookDelete())
	c.Long = `Let programs outside start flows, such as GitHub, GitLab, Stripe, or your own. A webhook is an address at a node's
HTTP door; what is sent there is signed with a secret that the node told once, and starts one flow for each delivery.`
	return c
}

// webhookFlags are what a webhook is to be.
type webhookFlags struct {
	w      domain.Webhook
	scheme string
	params []string
	file   string
}

func (f *webhookFlags) into(c *cobra.Command) {
	c.Flags().StringVar(&f.w.Blueprint, "blueprint", "", "the `name` of the blueprint to make flows of")
	c.Flags().IntVar(&f.w.Version, "version", 0, "its `version`; 0 is the newest at the time")
	c.Flags().StringVar(&f.w.When, "when", "", "start one only where this Rhai `expression` over body, headers and id holds")
	c.Flags().StringArrayVar(&f.params, "param", nil, "a parameter by a Rhai expression, `NAME=EXPRESSION`, as ref=body.ref; may be repeated")
	c.Flags().IntVar(&f.w.PerMinute, "per-minute", 0, fmt.Sprintf("take so `many` a minute, of each node (default %d)", domain.DefaultWebhookRate))
	c.Flags().StringVar(&f.w.Summary, "summary", "", "what it is for, in a `line`")
}

func (f *webhookFlags) secretInto(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "secret-from", "", "a `file` with the secret that the sender has already; - is what is piped in (default: one is made)")
}

// secret is the one that is given; "": none.
func (f *webhookFlags) secret(a *app) (string, error) {
	if f.file == "" {
		return "", nil
	}
	text, err := a.readInput(f.file, domain.MaxWebhookSecret+2)
	return domain.SecretText(string(text)), err
}

func (a *app) webhookCreate() *cobra.Command {
	var f webhookFlags
	c := &cobra.Command{
		Use: "create NAME --blueprint BLUEPRINT", Short: "Make a webhook, and tell its secret", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  ramet webhook create deploy --blueprint deploy --scheme github --when 'headers[\"x-github-event\"] == \"push\"' --param ref=body.ref\n" +
			"  ramet webhook create paid --blueprint invoice --scheme stripe --secret-from stripe.secret --param event=body",
		RunE: func(c *cobra.Command, args []string) error {
			params, err := pairs("param", f.params)
			if err != nil {
				return err
			}
			f.w.Name, f.w.Scheme, f.w.Params = args[0], domain.WebhookScheme(f.scheme), params
			secret, err := f.secret(a)
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				made, err := n.CreateWebhook(c.Context(), a.tenant(), f.w, secret)
				return a.printMadeWebhook(made, err)
			})
		},
	}
	f.into(c)
	f.secretInto(c)
	c.Flags().StringVar(&f.scheme, "scheme", string(domain.WebhookStandard), "how deliveries are signed: standard, github, stripe or token")
	c.Long = c.Short + `. The secret that is made is told this once; give it to the sender. One that is given is not told.
Scheme standard is that of Standard Webhooks;
token is a secret that is sent as it is, by X-Gitlab-Token or as a bearer token.`
	return c
}

func (a *app) webhookUpdate() *cobra.Command {
	var f webhookFlags
	var paused bool
	c := &cobra.Command{
		Use: "update NAME", Short: "Change a webhook; what is not named stays", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  ramet webhook update deploy --paused\n  ramet webhook update deploy --when 'body.ref == \"refs/heads/main\"' --paused=false",
		RunE: func(c *cobra.Command, args []string) error {
			params, err := pairs("param", f.params)
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				is, err := n.Webhook(c.Context(), a.tenant(), args[0])
				if err != nil {
					return err
				}
				w := is.Webhook
				for flag, change := range map[string]func(){
					"blueprint": func() { w.Blueprint = f.w.Blueprint }, "version": func() { w.Version = f.w.Version }, "when": func() { w.When = f.w.When },
					"param": func() { w.Params = params }, "per-minute": func() { w.PerMinute = f.w.PerMinute }, "summary": func() { w.Summary = f.w.Summary },
					"paused": func() { w.Paused = paused },
				} {
					if c.Flags().Changed(flag) {
						change()
					}
				}
				changed, err := n.UpdateWebhook(c.Context(), a.tenant(), w)
				return a.printWebhook(changed, err)
			})
		},
	}
	f.into(c)
	c.Flags().BoolVar(&paused, "paused", false, "refuse what comes, so that its sender tries again; --paused=false takes it again")
	return c
}

func (a *app) webhookList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the webhooks of a context", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Webhooks(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(api.Webhooks{Webhooks: list}, func(t *table) {
					t.row("WEBHOOK", "SCHEME", "BLUEPRINT", "STARTED", "LAST", "FLOW", "REFUSED", "STANDS")
					for _, w := range list {
						t.row(w.Name, w.SchemeOr(), w.Blueprint, w.State.Started, clock(w.State.LastMs), flowNamed(w.State.LastFlow), w.State.Refused,
							startStands(doctor.WebhookStands(&w, a.boardNow())))
					}
				})
			})
		},
	}
}

// startStands says whether what starts flows does, and what is wrong where it does not.
func startStands(is doctor.StartStanding, why string) string {
	switch is {
	case doctor.StartLocked:
		return "cannot be opened: " + why
	case doctor.StartPaused:
		return "paused"
	case doctor.StartHeld:
		return "waits: " + why
	case doctor.StartLate:
		return "late: " + why
	case doctor.StartOver:
		return "over"
	case doctor.StartLacks:
		return why
	case doctor.StartRefused, doctor.StartUnproven:
		return "refused last: " + why
	case doctor.StartDead:
		return "dead letter last: " + why
	}
	return "ok"
}

// flowNamed is a flow's key; "" for none.
func flowNamed(id domain.FlowID) string {
	if id == 0 {
		return ""
	}
	return domain.FlowKey(id)
}

// onWebhook is a verb about one webhook.
func (a *app) onWebhook(use, short string, do func(ctx context.Context, n *client.Client, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error { return do(c.Context(), n, args[0]) })
		},
	}
}

func (a *app) webhookShow() *cobra.Command {
	return a.onWebhook("show", "Show a webhook, what it started last and why it refused", func(ctx context.Context, n *client.Client, name string) error {
		w, err := n.Webhook(ctx, a.tenant(), name)
		return a.printWebhook(w, err)
	})
}

func (a *app) webhookDelete() *cobra.Command {
	return a.onWebhook("delete", "Remove a webhook; its flows stay", func(ctx context.Context, n *client.Client, name string) error {
		w, err := n.DeleteWebhook(ctx, a.tenant(), name)
		if err != nil {
			return err
		}
		return a.print(w, func(t *table) { t.row(w.Name + " is deleted") })
	})
}

func (a *app) webhookRotate() *cobra.Command {
	var f webhookFlags
	keep := domain.DefaultWebhookKeep.Time()
	c := a.onWebhook("rotate", "Give a webhook another secret, and tell it", func(ctx context.Context, n *client.Client, name string) error {
		secret, err := f.secret(a)
		if err != nil {
			return err
		}
		made, err := n.RotateWebhook(ctx, a.tenant(), name, secret, domain.Span(keep/time.Second))
		return a.printMadeWebhook(made, err)
	})
	f.secretInto(c)
	c.Flags().DurationVar(&keep, "keep", keep, "for how `long` the one before is taken, too; 0s: not at all")
	c.Example = "  ramet webhook rotate deploy\n  ramet webhook rotate deploy --keep 0s"
	return c
}

func (a *app) printMadeWebhook(w api.WebhookMade, err error) error {
	if err != nil {
		return err
	}
	return a.print(w, func(t *table) {
		webhookTable(t, w.Webhook, a.boardNow())
		if w.Secret != "" { // else whoever asks has given it
			t.field("secret", w.Secret)
			t.row("The secret is not told again: give it to the sender now.")
		}
	})
}

func (a *app) printWebhook(w api.Webhook, err error) error {
	if err != nil {
		return err
	}
	return a.print(w, func(t *table) { webhookTable(t, w, a.boardNow()) })
}

func webhookTable(t *table, w api.Webhook, now time.Time) {
	t.field("webhook", w.Name)
	t.field("stands", startStands(doctor.WebhookStands(&w, now)))
	t.field("summary", w.Summary)
	t.field("send to", "POST "+cmp.Or(w.URL, w.Path))
	t.field("scheme", w.SchemeOr())
	t.field("blueprint", w.Blueprint)
	t.field("version", w.Version)
	t.field("when", w.When)
	for _, name := range slices.Sorted(maps.Keys(w.Params)) {
		t.field("param "+visible(name), w.Params[name])
	}
	t.field("a minute", w.Rate())
	if w.Paused {
		t.field("paused", true)
	}
	t.field("in the name of", w.CallerID)
	t.field("secret set", clock(w.State.RotatedMs))
	t.field("the one before until", clock(w.State.OldUntilMs))
	t.field("started", w.State.Started)
	t.field("last", clock(w.State.LastMs))
	t.field("last flow", flowNamed(w.State.LastFlow))
	t.field("ignored", w.State.Ignored)
	t.field("refused", w.State.Refused)
	t.field("last refused", clock(w.State.RefusedMs))
	t.field("why", w.State.LastError)
}
