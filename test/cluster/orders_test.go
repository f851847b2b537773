package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// kind is what becomes of an order, and why.
type kind string

// The kinds of order.
const (
	plain       kind = "plain"
	noted       kind = "noted"       // it is paid when there are five notes
	spoiled     kind = "spoiled"     // like noted, and there comes one that is poison
	rested      kind = "rested"      // it is paid after a while
	unpaid      kind = "unpaid"      // it is not paid in time
	refused     kind = "refused"     // the bank says no
	unshippable kind = "unshippable" // the parcel service says no
)

var kinds = []kind{plain, noted, spoiled, rested, unpaid, refused, unshippable}

// order is one that was acknowledged, with all its events.
type order struct {
	id    string
	kind  kind
	notes []string
}

// crowd are people who order.
type crowd struct {
	f *fleet

	mu      sync.Mutex
	orders  map[string]*order
	events  map[string]bool // ids of all that sagas can read
	future  map[string]bool // of those of a version that nobody knows yet
	doubled int
	litter  int
}

func newCrowd(f *fleet) *crowd {
	return &crowd{f: f, orders: map[string]*order{}, events: map[string]bool{}, future: map[string]bool{}}
}

// people is how many order at the same time.
const people = 4

// shop lets people order until stop is closed. What one has begun is brought to
// its end after that.
func (c *crowd) shop(stop <-chan struct{}) (wait func()) {
	var all sync.WaitGroup
	for p := range people {
		dice := rand.New(rand.NewPCG(c.f.Uint64(), uint64(p)))
		all.Go(func() {
			for n := 0; ; n++ {
				if err := c.order(dice, fmt.Sprintf("o.%d %d", p, n), kinds[dice.IntN(len(kinds))]); err != nil {
					c.f.Errorf("person %d: %v", p, err)
					return
				}
				pause := time.NewTimer(time.Duration(dice.IntN(160)) * time.Millisecond)
				select {
				case <-pause.C:
				case <-stop:
					return
				}
			}
		})
	}
	return all.Wait
}

// order places an order, with all that belongs to it.
func (c *crowd) order(dice *rand.Rand, id string, k kind) error {
	o := &order{id: id, kind: k}
	placed := api.EventInput{ID: "placed:" + id, Type: "OrderPlaced", Payload: payload(map[string]string{"kind": string(k)})}
	if dice.IntN(20) == 0 { // not for long will anybody understand this
		placed.SchemaVersion = 9
		return c.publish(dice, id, placed)
	}
	if err := c.publish(dice, id, placed); err != nil {
		return err
	}
	if k == noted || k == spoiled {
		for i := range 5 {
			if k == spoiled && i == 2 {
				if err := c.publish(dice, id, note(id, "")); err != nil {
					return err
				}
			}
			text := fmt.Sprint("note ", i)
			if err := c.publish(dice, id, note(id, text)); err != nil {
				return err
			}
			o.notes = append(o.notes, text)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orders[id] = o
	return nil
}

func note(id, text string) api.EventInput {
	return api.EventInput{ID: "note:" + id + ":" + text, Type: "OrderNoted", Payload: payload(map[string]string{"note": text})}
}

func payload(fields map[string]string) json.RawMessage {
	text, _ := json.Marshal(fields) // texts always can
	return text
}

// publish stores an event, again and again until that is acknowledged, and at
// times once more after that.
func (c *crowd) publish(dice *rand.Rand, id string, ev api.EventInput) error {
	ev.AggregateType, ev.AggregateID, ev.TimeMs = "Order", id, time.Now().UnixMilli()
	for end := time.Now().Add(drainWithin); ; time.Sleep(50 * time.Millisecond) {
		err := c.try(dice, ev)
		if err == nil {
			break
		}
		// A node that dies breaks off what it was about to say.
		if text := err.Error(); !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(text, "EOF") {
			return fmt.Errorf("publish %s: %w", ev.ID, err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("nobody takes %s: %w", ev.ID, err)
		}
	}
	again := dice.IntN(5) == 0
	if again {
		_ = c.try(dice, ev)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if again {
		c.doubled++
	}
	if ev.SchemaVersion > 1 {
		c.future[ev.ID] = true
	} else {
		c.events[ev.ID] = true
	}
	return nil
}

// try publishes an event once: through a node, or past all of them as other
// programs do, with an id that the broker knows it by or without.
func (c *crowd) try(dice *rand.Rand, ev api.EventInput) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	door := dice.IntN(len(c.f.nodes) + 2)
	if door < len(c.f.nodes) {
		_, err := c.f.nodes[door].client.PublishEvent(ctx, shopping, ev)
		return err
	}
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	name := []string{acme, fmt.Sprint(shopping)}[dice.IntN(2)]
	m := &nats.Msg{Subject: "tenant." + name + ".aggregate.Order." + subjectToken.Replace(ev.AggregateID), Data: data}
	var opts []jetstream.PublishOpt
	if dice.IntN(2) == 0 {
		opts = append(opts, jetstream.WithMsgID(ev.ID))
	}
	if _, err = c.f.js.PublishMsg(ctx, m, opts...); err != nil {
		return domain.Unavailablef("publish past the nodes: %v", err)
	}
	return nil
}

// subjectToken writes an order's id as a part of a subject.
var subjectToken = strings.NewReplacer(".", "%2E", " ", "%20")

// drop publishes what is no event at all.
func (c *crowd) drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range 3 {
		c.litter++
		if _, err := c.f.js.Publish(ctx, fmt.Sprintf("tenant.%s.aggregate.Order.litter-%d", acme, i), []byte("{"),
			jetstream.WithMsgID(fmt.Sprint("litter", i))); err != nil {
			return err
		}
	}
	return nil
}
