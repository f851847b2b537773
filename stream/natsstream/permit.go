package natsstream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// Producer is a program that publishes events of aggregates, and nothing else.
type Producer struct {
	// Tenant is the part of the subject behind "tenant.": the context's alias, or
	// its number. [Anybody], [NoContext].
	Tenant string
	// User is its nkey: "U…".
	User string
}

// ParseProducer reads "7:U…"; ":U…" is in a deployment without contexts, "*:U…"
// of all contexts.
//
// Errors: [domain.ErrInvalid].
func ParseProducer(text string) (Producer, error) {
	tenant, user, ok := strings.Cut(text, ":")
	if !ok || !nkeys.IsValidPublicUserKey(user) {
		return Producer{}, domain.Invalidf("producer %q: want <context>:<nkey of its user>, as 7:U…; `nk -gen user -pubout` makes one", domain.PlainText(text, 120))
	}
	if _, err := domain.ParseTenantID(tenant); err != nil && tenant != Anybody && tenant != NoContext {
		if err := domain.ValidateAlias(tenant); err != nil {
			return Producer{}, domain.Invalidf("context %q of a producer: want its alias, or its number where it has none", domain.PlainText(tenant, domain.MaxAlias))
		}
	}
	return Producer{tenant, user}, nil
}

// once returns each producer once. Who logs in with an nkey comes into one account,
// so it is good for the events of one context, or with [Anybody] for all.
//
// Errors: [domain.ErrInvalid] for an nkey that is given for two contexts, or is
// that of a node.
func once(list []Producer, nodes []string) ([]Producer, error) {
	var each []Producer
	for _, p := range list {
		if key, ok := natslink.KeyOf(p.User); ok && slices.Contains(nodes, key) {
			return nil, domain.Invalidf("producer %s has the link key of a node: want an nkey of its own", p.User)
		}
		i := slices.IndexFunc(each, func(o Producer) bool { return o.User == p.User })
		switch {
		case i < 0:
			each = append(each, p)
		case each[i] != p:
			return nil, domain.Invalidf("producer %s is given for the contexts %q and %q: want an nkey for each, or * for all contexts", p.User,
				each[i].Tenant, p.Tenant)
		}
	}
	return each, nil
}

// Permit is who may do what with the streams on an external server.
type Permit struct {
	// Nodes are the link keys of nodes, 64 hex digits.
	Nodes     []string
	Producers []Producer
}

// account holds the streams on an external server.
const account = "ramet-streams"

// Accounts writes the accounts of the streams as a part of a nats-server's
// configuration: what stands between the braces of "accounts". Nodes have what
// they need and no more; a producer publishes events of its context.
//
// Errors: [domain.ErrInvalid].
func Accounts(p Permit) (string, error) {
	var users, exports, accounts strings.Builder
	for _, link := range slices.Compact(slices.Sorted(slices.Values(p.Nodes))) {
		user, err := natslink.User(link)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&users, `      {nkey: %s, permissions: {
        publish: {allow: %s}
        subscribe: {allow: [%q]}
      }}
`, user, quoted(publishes()), inbox(user)+".>")
	}
	if users.Len() == 0 {
		return "", domain.Invalidf("a NATS configuration of streams for no nodes")
	}
	each, err := once(p.Producers, p.Nodes)
	if err != nil {
		return "", err
	}
	of := map[string][]string{}
	for _, x := range each {
		of[x.Tenant] = append(of[x.Tenant], "{nkey: "+x.User+"}")
	}
	var tenants []string
	for tenant := range of {
		tenants = append(tenants, tenant)
	}
	slices.Sort(tenants)
	for _, tenant := range tenants {
		fmt.Fprintf(&accounts, "  %q: {\n    users: [%s]\n    imports: [\n", producers(tenant), strings.Join(of[tenant], ", "))
		for _, subject := range eventsOf(tenant) {
			fmt.Fprintf(&accounts, "      {service: {account: %q, subject: %q}}\n", account, subject)
		}
		accounts.WriteString("    ]\n  }\n")
	}
	for _, subject := range exported(tenants) {
		fmt.Fprintf(&exports, "      {service: %q}\n", subject)
	}
	return fmt.Sprintf(`  # Streams: nodes in one account, and producers of events in accounts of their own.
  %q: {
    jetstream: enabled
    users: [
%s    ]
    exports: [
%s    ]
  }
%s`, account, users.String(), exports.String(), accounts.String()), nil
}

// exported are the subjects that producers of some contexts import.
func exported(tenants []string) (list []string) {
	for _, tenant := range tenants {
		list = append(list, eventsOf(tenant)...)
	}
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
