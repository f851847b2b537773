// Package chromiumtest starts a real browser for tests: Chromium without a window, with a
// profile of its own, gone with the test.
package chromiumtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long all of a test may take in its browser, also on a machine that has
// much else to do.
const patience = 10 * time.Minute

// Browser is one tab. Its methods are for one goroutine.
type Browser struct {
	t    testing.TB
	ctx  context.Context
	away atomic.Bool // see Away
}

// Start starts a browser. The test is skipped where none is installed, and fails where the
// browser's own console says that something went wrong: a script that failed, a style or a
// script that the page's policy refused, something that was not found.
func Start(t testing.TB) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(find(t)), chromedp.Flag("lang", "en"),
		chromedp.Flag("force-prefers-reduced-motion", true),
		// Else keys and clicks are lost that come before a page was painted: where much runs
		// that is a while after it has loaded.
		chromedp.Flag("allow-pre-commit-input", true),
		chromedp.WSURLReadTimeout(patience)) // it is long in starting where much else runs
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which Chromium does not have for root
	}
	ctx, cancelAll := context.WithTimeout(context.Background(), patience)
	ctx, cancelBrowser := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancelTab := chromedp.NewContext(ctx)
	b := &Browser{t: t, ctx: ctx}
	said := chromedp.Console(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		for m, err := range said {
			if err != nil {
				return // the test has ended
			}
			// Said by chance, of a page whose field has the focus already.
			text := fmt.Sprint(m)
			if !strings.Contains(text, "Autofocus processing was blocked") && !(b.away.Load() && strings.Contains(text, "Failed to load resource")) {
				t.Errorf("the browser says: %s %s", text, m.URL)
			}
		}
	}()
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // it is killed in any case
		cancelTab()
		cancelBrowser()
		cancelAll()
		<-told
	})
	return b
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if bin, err := exec.LookPath(name); err == nil {
			return bin
		}
	}
	if os.Getenv("RAMET_TEST_SERVERS") == "required" {
		t.Fatal("no Chromium is installed: apt-get install chromium")
	}
	t.Skip("no Chromium is installed: apt-get install chromium")
	return ""
}

// Do does actions one after the other.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Press presses keys as a person does: each is one event that brings its text with it.
// [chromedp.KeyEvent] sends the text by itself, and so Chromium writes it although the page
// has said that the key is not for writing.
func (b *Browser) Press(keys string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		down, up := *events[0], *events[len(events)-1]
		for _, m := range modifiers {
			down.Modifiers |= int64(m)
			up.Modifiers |= int64(m)
		}
		if len(events) == 3 && len(modifiers) == 0 {
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		for _, event := range []input.DispatchKeyEventParams{down, up} {
			if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, event); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// Away says that the server may be away from now on: that something cannot be loaded is no
// fault of the page then.
func (b *Browser) Away() { b.away.Store(true) }

// Eval is the value of an expression in the page.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Until waits until an expression holds in the page. One that fails does not hold: a page
// that is just being loaded has nothing yet.
func (b *Browser) Until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		// What was asked of a page that is left meanwhile may never be answered.
		asking, enough := context.WithTimeout(b.ctx, 5*time.Second)
		holds, err := chromedp.Run(asking, chromedp.Evaluate[bool](expression))
		enough()
		switch {
		case err == nil && holds:
			return
		case b.ctx.Err() != nil || time.Now().After(end):
			b.t.Fatalf("it does not come: %s, %v; the page says %s", expression, err, Eval[string](b, "document.body.innerText"))
		}
	}
}

// Await is the value that a promise of the page comes to.
func Await[T any](b *Browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// See sets how wide the window is, and which colours the reader likes: light or dark.
func (b *Browser) See(width, height int64, colours string) {
	b.t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
	b.Do(chromedp.EmulateViewport(width, height))
}

// Picture is what can be seen, as a PNG.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}

// Forgetful has the browser load everything anew each time, as one that comes for the first
// time.
func (b *Browser) Forgetful() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		b.t.Fatal(err)
	}
}

// FirstPaint is after how many milliseconds the page that was opened last showed something:
// from the click on its link, as it were.
func (b *Browser) FirstPaint() float64 {
	b.t.Helper()
	const paint = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime || 0`
	b.Until("(" + paint + ") > 0")
	return Eval[float64](b, paint)
}
