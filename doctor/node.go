package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file looks at the nodes of a board beside each other, and at what one stands on.

// nodes finds those that differ in what they know, and whose clocks are off. Those that are
// silent their runners tell, whom more may see.
func (c *Report) nodes(list []domain.Node, now time.Time) {
	versions, formats := map[string][]string{}, map[int][]string{}
	for _, n := range list {
		if n.Seen(now).Alive {
			version := cmp.Or(n.Version, "unknown")
			versions[version] = append(versions[version], n.Name)
			formats[n.Format] = append(formats[n.Format], n.Name)
			c.clockOf(n)
			c.unkept(n)
			c.gaveUp(n)
		}
	}
	if len(versions) > 1 {
		c.add("versions", Warning, "the nodes differ: %s. They work together if one follows the other; upgrade the rest", grouped(versions, "version "))
	}
	if len(formats) > 1 {
		c.add("format", Warning, "the nodes know boards of different formats: %s. The board stays in the older one until the last older node is gone",
			grouped(formats, "format "))
	}
}

// clockOf says that a node's clock is not the board's.
func (c *Report) clockOf(n domain.Node) {
	off, way := time.Duration(n.ClockOffMs)*time.Millisecond, "ahead of"
	if off < 0 {
		way = "behind"
	}
	if off.Abs() > clocksDiffer {
		c.add("node "+n.Name, Warning, "its clock is %v %s the board's, by which alarms and schedules come; on etcd that is the middle one of the nodes' clocks, "+
			"and the earlier of two. Run NTP on all nodes", off.Abs(), way)
	}
}

// unkept says that jobs of a node wait with their end for the store of artifacts.
func (c *Report) unkept(n domain.Node) {
	count := strconv.Itoa(len(n.Unkept))
	switch len(n.Unkept) {
	case 0:
		return
	case domain.MaxUnkept:
		count += " or more"
	}
	c.add("artifacts", Bad, "jobs of node %s that have done their work and cannot leave their files: %s, %s; make room there, or see that it answers: "+
		"they end by themselves then, and while the node lives none runs again", n.Name, count, n.Unkept[0].Why)
}

// gaveUp says which roles a node has given up itself, and why.
func (c *Report) gaveUp(n domain.Node) {
	var roles []string
	why := ""
	for _, o := range n.Off {
		if GivenUp(o) {
			roles, why = append(roles, string(o.Role)), o.Why
		}
	}
	if len(roles) > 0 {
		c.add("node "+n.Name, Bad, "it has given up its roles (%s), which others take if there are any: %s", strings.Join(roles, ", "), why)
	}
}

// alone says that no node lives on the board beside the one that answered, which ends with the
// command. A board of one node has no other, whatever its records say.
func (c *Report) alone(info api.Info, nodes []domain.Node, now time.Time) {
	other := func(n domain.Node) bool { return n.Seen(now).Alive }
	if info.Board == "embedded" || !slices.ContainsFunc(nodes, other) {
		c.add("nodes", Warning, "no node lives on this board: the one that answered is this command itself, runs no jobs and ends with it; "+
			"start one with `ramet serve`")
	}
}

// groupTold is how many nodes are named that are alike.
const groupTold = 5

// grouped names the nodes that have each of some things in common.
func grouped[K cmp.Ordered](groups map[K][]string, of string) string {
	keys := make([]K, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	texts := make([]string, len(keys))
	for i, k := range keys {
		names := slices.Sorted(slices.Values(groups[k]))
		more := ""
		if over := len(names) - groupTold; over > 0 {
			names, more = names[:groupTold], fmt.Sprintf(" and %d more", over)
		}
		texts[i] = fmt.Sprintf("%s%v on %s%s", of, k, strings.Join(names, ", "), more)
	}
	return strings.Join(texts, "; ")
}

// certificateSoon is how long before its end a certificate is warned of: those that are
// renewed by themselves, as by ACME, are long before.
const certificateSoon = 14 * 24 * time.Hour

// standsOn finds what is wrong with clocks, certificates and servers, and says how much is kept.
func (c *Report) standsOn(info api.Info, now time.Time) {
	if info.NowMs != 0 {
		if off := time.UnixMilli(info.NowMs).Sub(now); off.Abs() > clocksDiffer {
			way := "ahead of"
			if off < 0 {
				way = "behind"
			}
			c.add("clock", Warning, "that of node %s is %v %s the one here: tokens are refused where clocks differ by a minute, and times that it shows are off; "+
				"run NTP on both", info.Name, off.Abs().Round(time.Second), way)
		}
	}
	for _, one := range info.Certificates {
		c.certificate(one, now)
	}
	for _, s := range info.Settings {
		c.add(s.Of, Warning, "%s", s.Text)
	}
	if len(info.Sizes) > 0 {
		texts := make([]string, len(info.Sizes))
		for i, s := range info.Sizes {
			texts[i] = s.Of + " " + SizeText(s.Bytes)
		}
		c.add("sizes", OK, "%s", strings.Join(texts, ", "))
	}
}

func (c *Report) certificate(one api.Certificate, now time.Time) {
	what, from, until := "certificate of "+one.Of, time.UnixMilli(one.FromMs), time.UnixMilli(one.UntilMs)
	switch {
	case one.Error != "":
		c.add(what, Bad, "%s cannot be read: %s; the node goes on with what it read before, and does not start again", one.File, one.Error)
	case now.After(until):
		c.add(what, Bad, "%s ran out at %s: nobody who looks at it connects; renew it", one.File, clock(one.UntilMs))
	case now.Before(from):
		c.add(what, Bad, "%s is good from %s on only: is the clock right?", one.File, clock(one.FromMs))
	case until.Sub(now) < certificateSoon:
		c.add(what, Warning, "%s runs out at %s: renew it", one.File, clock(one.UntilMs))
	default:
		c.add(what, OK, "%s is good until %s", one.File, clock(one.UntilMs))
	}
}

// SizeText is a number of bytes for people.
func SizeText(bytes int64) string {
	units, n := []string{"B", "KiB", "MiB", "GiB", "TiB"}, float64(bytes)
	for len(units) > 1 && n >= 1024 {
		n, units = n/1024, units[1:]
	}
	return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) + " " + units[0]
}
