package resp

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// redisVersion is the release of Redis whose commands these are: some clients
// ask before they use one.
const redisVersion = "7.0.0"

var serverCommands = []command{
	{name: "client", arity: -2, conn: clientCommand},
	{name: "command", arity: -1, conn: commandCommand},
	{name: "config", arity: -2, conn: config},
	{name: "info", arity: -1, conn: info},
	{name: "time", arity: 1, run: timeCommand},
}

func timeCommand(x *call) error {
	now := time.Now().UnixMicro()
	x.a.bulks([]string{strconv.FormatInt(now/1e6, 10), strconv.FormatInt(now%1e6, 10)})
	return nil
}

func clientCommand(c *client, args []string) error {
	a := &c.out
	switch sub := strings.ToUpper(args[1]); {
	case sub == "ID" && len(args) == 2:
		a.number64(c.id)
	case sub == "GETNAME" && len(args) == 2:
		a.bulkOr(c.name, c.name != "")
	case sub == "SETNAME" && len(args) == 3:
		if err := checkName(args[2]); err != nil {
			return err
		}
		c.name = args[2]
		a.ok()
	case sub == "SETINFO" && len(args) == 4:
		if err := checkName(args[3]); err != nil {
			return err
		}
		a.ok()
	case sub == "INFO" && len(args) == 2:
		a.text(c.describe() + "\n")
	case sub == "LIST":
		a.text(c.describe() + "\n") // its own alone: who else is here is no concern of its
	case (sub == "NO-EVICT" || sub == "NO-TOUCH") && len(args) == 3:
		a.ok()
	case sub == "REPLY" && len(args) == 3 && is(args[2], "on"):
		a.ok()
	case sub == "TRACKING" && len(args) == 3 && is(args[2], "off"):
		a.ok()
	case slices.Contains([]string{"ID", "GETNAME", "SETNAME", "SETINFO", "INFO", "NO-EVICT", "NO-TOUCH"}, sub):
		return failure("ERR wrong number of arguments for 'client|" + strings.ToLower(sub) + "' command")
	default:
		return errSubcommand(args[1], "CLIENT")
	}
	return nil
}

// describe is the client's line of CLIENT LIST.
func (c *client) describe() string {
	return fmt.Sprintf("id=%d addr=%s name=%s age=%d db=%d user=%d resp=%d cmd=%s",
		c.id, c.conn.RemoteAddr(), c.name, int(time.Since(c.since).Seconds()), c.space, c.who.Actor, map[bool]int{false: 2, true: 3}[c.out.three], c.last)
}

func commandCommand(c *client, args []string) error {
	names := slices.Sorted(maps.Keys(commands))
	a := &c.out
	if len(args) == 1 {
		a.array(len(names))
		for _, name := range names {
			commands[name].describe(a)
		}
		return nil
	}
	switch strings.ToUpper(args[1]) {
	case "COUNT":
		a.number(len(names))
	case "LIST":
		a.bulks(names)
	case "DOCS":
		a.pairs(0)
	case "INFO":
		if len(args) > 2 {
			names = args[2:]
		}
		a.array(len(names))
		for _, name := range names {
			if spec := find(name); spec != nil {
				spec.describe(a)
			} else {
				a.nullArray()
			}
		}
	case "GETKEYS":
		if len(args) < 3 {
			return errArity("command|getkeys")
		}
		spec := find(args[2])
		if spec == nil || !spec.fits(len(args)-2) {
			return failure("ERR Invalid command specified")
		}
		a.bulks(spec.keys(args[2:]))
	default:
		return errSubcommand(args[1], "COMMAND")
	}
	return nil
}

// describe is an entry of COMMAND: name, arity, flags, place of the keys.
func (s *command) describe(a *answer) {
	flags := []string{"readonly"}
	if s.writes {
		flags = []string{"write"}
	}
	if s.blocks {
		flags = append(flags, "blocking")
	}
	if s.open {
		flags = append(flags, "no_auth")
	}
	a.array(6)
	a.bulk(s.name)
	a.number(s.arity)
	a.members(len(flags))
	for _, f := range flags {
		a.status(f)
	}
	a.number(s.first)
	a.number(s.last)
	a.number(s.step)
}

// config answers the few settings that programs ask for; none can be set.
func config(c *client, args []string) error {
	if !is(args[1], "get") || len(args) < 3 {
		return failure("ERR CONFIG " + clip(strings.ToUpper(args[1]), 64) + " is not done here: a node is set up by its flags and its config file")
	}
	settings := map[string]string{"save": "", "appendonly": "yes", "databases": "4294967296",
		"maxclients": strconv.Itoa(c.door.cfg.Budget.Config().Connections), "maxmemory": "0"}
	if c.door.cfg.Board.Durability() == board.DurableMemory {
		settings["appendonly"] = "no"
	}
	wanted := map[string]bool{}
	for _, text := range args[2:] {
		match, err := c.door.match(strings.ToLower(text))
		if err != nil {
			return err
		}
		for name := range settings {
			if fits, _ := match.fits(name, maxSteps); fits {
				wanted[name] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(wanted))
	c.out.pairs(len(names))
	for _, name := range names {
		c.out.bulk(name)
		c.out.bulk(settings[name])
	}
	return nil
}

// info says what the node is; who is connected is the operator's to know.
func info(c *client, args []string) error {
	d := c.door
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s:%v\r\n", name, value) }
	b.WriteString("# Server\r\n")
	line("redis_version", redisVersion)
	line("redis_mode", "standalone")
	line("ramet_version", d.cfg.Version)
	line("ramet_node", d.cfg.Node)
	if c.who.Operates(domain.VerbInspect, "node") {
		line("os", runtime.GOOS)
		line("process_id", os.Getpid())
		line("uptime_in_seconds", int(time.Since(d.began).Seconds()))
		b.WriteString("\r\n# Clients\r\n")
		d.mu.Lock()
		line("connected_clients", len(d.clients))
		d.mu.Unlock()
		line("maxclients", d.cfg.Budget.Config().Connections)
		b.WriteString("\r\n# Stats\r\n")
		line("total_connections_received", d.lastID.Load())
		line("total_commands_processed", d.commands.Load())
	}
	b.WriteString("\r\n# Persistence\r\n")
	line("loading", 0)
	line("ramet_durability", d.cfg.Board.Durability())
	b.WriteString("\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n")
	c.out.text(b.String())
	return nil
}
