package saga

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
)

// GatewayConfig says where commands for aggregates go.
type GatewayConfig struct {
	// URL takes a SubmitCommandRequest by POST. "": there is no gateway, and
	// commands are dead letters.
	URL string
	// Header gives what is sent with each request: authorization. Default:
	// nothing.
	Header func(ctx context.Context) (map[string]string, error)
	// Timeout bounds one request. Default: 10s.
	Timeout time.Duration
	// MaxInFlight is how many requests are made at once. Default: 64.
	MaxInFlight int
	// Client makes the requests. Default: one that follows no redirects.
	Client *http.Client
}

// gateways brings commands to the gateway, for all partitions of a worker.
type gateways struct {
	cfg  GatewayConfig
	text *slog.Logger
	now  func() time.Time // the board's: another node may have tried a command before

	mu       sync.Mutex
	inFlight int
	place    chan struct{} // closed and made anew when there is room again
}

func newGateways(cfg GatewayConfig, now func() time.Time, text *slog.Logger) *gateways {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.MaxInFlight = cmp.Or(cfg.MaxInFlight, 64)
	if cfg.Client == nil {
		cfg.Client = &http.Client{Transport: transport(cfg.MaxInFlight), CheckRedirect: stay}
	}
	return &gateways{cfg: cfg, now: now, text: text, place: make(chan struct{})}
}

// transport keeps as many connections as requests are made at once.
func transport(most int) http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = most
	return t
}

// stay follows no redirect: the request's header is for one host only.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// take reserves room for one request, if there is any.
func (g *gateways) take() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inFlight >= g.cfg.MaxInFlight {
		return false
	}
	g.inFlight++
	return true
}

func (g *gateways) give() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	close(g.place)
	g.place = make(chan struct{})
}

// freed is closed when a place that is taken now has become free.
func (g *gateways) freed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.place
}

// wait reserves room as soon as there is some.
func (g *gateways) wait(ctx context.Context) error {
	for {
		freed := g.freed()
		if g.take() {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// submit brings a command there, with pauses that grow, until the gateway has
// taken or refused it, or the command's policy gives it up. It has room when it is called and
// gives that back: also for its pauses, for others may be luckier.
//
// failed is told of each attempt after which it is tried again. Errors: [domain.ErrInvalid]
// when it refuses or is given up; the context's own.
func (g *gateways) submit(ctx context.Context, tenant string, w *outgoing, failed func(wait time.Duration, err error)) error {
	policy := w.Gateway.Filled()
	begun := g.now()
	for wait := pauseMin; ; wait = min(2*wait, policy.MaxBackoff.Time()) {
		after, err := g.post(ctx, tenant, &w.WorkItem)
		g.give()
		var no *refusal
		if err == nil || errors.As(err, &no) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		now := g.now()
		left := w.tried(policy, now)
		if left <= 0 {
			g.text.Warn("a command for the gateway is given up", "command", w.ID, "saga", w.Saga, "attempts", w.tries, "err", err)
			return &refusal{text: fmt.Sprintf("given up after %d attempts in %s, and whether the gateway has done it is not known: %v",
				w.tries, now.Sub(w.since).Truncate(time.Second), unaddressed(err)), answered: true, gaveUp: true}
		}
		g.text.Log(ctx, again(wait), "the gateway did not take a command; it is tried again", "command", w.ID, "saga", w.Saga, "err", err)
		failed(max(wait, now.Sub(begun)), err)
		if err := pause.For(ctx, min(left, max(wait, min(after, time.Minute)))); err != nil {
			return err
		}
		if err := g.wait(ctx); err != nil {
			return err
		}
	}
}

// tried counts an attempt that the gateway did not take, and says for how long the command may be tried
// still; none: it is given up.
func (w *outgoing) tried(policy domain.SagaGateway, now time.Time) (left time.Duration) {
	if w.tries++; w.since.IsZero() || w.since.After(now) { // by a clock that was ahead
		w.since = now
	}
	if policy.Attempts > 0 && w.tries >= policy.Attempts {
		return 0
	}
	return w.since.Add(policy.GiveUp.Time()).Sub(now)
}

// unaddressed is why a gateway did not take a command, in words that have nothing of its address, nor of what
// knows it: these are the operator's, whose log has them. So only what is known to be without is told.
func unaddressed(err error) error {
	var answers *busy
	var name *net.DNSError
	var late net.Error
	var number syscall.Errno
	var proof *tls.CertificateVerificationError
	switch {
	case errors.As(err, &answers):
		return answers
	case errors.As(err, &name):
		return errors.New("the gateway's name cannot be looked up")
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errors.New("the gateway does not answer in time")
	case errors.As(err, &number):
		return fmt.Errorf("the gateway cannot be reached: %s", number.Error())
	case errors.As(err, &proof):
		return errors.New("the gateway's certificate is not accepted")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the gateway cannot be reached: it closed the connection")
	}
	return errors.New("the gateway cannot be reached: the log of the node says why")
}

// busy is an answer after which a command is sent again.
type busy struct{ status string }

func (b *busy) Error() string { return "gateway answers " + b.status }

// refusal is a no that stays one.
type refusal struct {
	text string
	// gaveUp is whether nobody has said no: the command was tried for as long as its policy has it.
	gaveUp bool
	// answered is whether it is the gateway's: else the operator has something to
	// mend, and the command may be sent again then.
	answered bool
}

func (e *refusal) Error() string { return e.text }
func (e *refusal) Unwrap() error { return domain.ErrInvalid }

func (g *gateways) post(ctx context.Context, tenant string, w *domain.WorkItem) (after time.Duration, err error) {
	if g.cfg.URL == "" {
		return 0, &refusal{text: "there is no gateway for commands: set sagas.gateway in the config file"}
	}
	body := plainJSON(domain.SubmitCommandRequest{TenantID: tenant, CommandID: w.ID, AggregateID: w.AggregateID,
		AggregateType: w.AggregateType, PayloadJSON: string(w.Payload), Metadata: meta(w)})
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.cfg.URL, strings.NewReader(body))
	if err != nil {
		g.text.Warn("no request can be made for the gateway", "err", err)
		return 0, &refusal{text: "no request can be made for the gateway: see sagas.gateway in the config file"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", w.ID)
	if tenant != "" {
		req.Header.Set("x-tenant-id", tenant)
	}
	if trace := w.Metadata[domain.MetaTrace]; trace != "" {
		req.Header.Set("x-trace-id", trace)
	}
	if g.cfg.Header != nil {
		more, err := g.cfg.Header(ctx)
		if err != nil {
			return 0, err
		}
		for name, v := range more {
			req.Header.Set(name, v)
		}
	}
	resp, err := g.cfg.Client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	switch code := resp.StatusCode; {
	case code/100 == 2, code == http.StatusConflict && isRepeat(resp):
		return 0, nil
	case code == http.StatusUnauthorized, // the credentials are the operator's to mend
		code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code/100 == 5:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, &busy{resp.Status}
	}
	return 0, &refusal{text: fmt.Sprintf("gateway refuses the command: %s: %s", resp.Status, domain.PlainText(string(answer), 500)), answered: true}
}

// isRepeat reports whether a gateway says that it has had the command already.
func isRepeat(resp *http.Response) bool { return resp.Header.Get("Idempotency-Replayed") == "true" }
