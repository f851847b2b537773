package main

import (
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/grpceffect"
	"github.com/ramet-run/ramet/effect/httpeffect"
	"github.com/ramet-run/ramet/effect/jobeffect"
	"github.com/ramet-run/ramet/effect/smtpeffect"
	"github.com/ramet-run/ramet/effect/sqleffect"
	"github.com/ramet-run/ramet/node"
)

// effectKinds lists every kind of effect.
func effectKinds(n *node.Node) map[effect.Kind]effect.Open {
	return map[effect.Kind]effect.Open{
		effect.KindHTTP: httpeffect.Open,
		effect.KindGRPC: grpceffect.Open,
		effect.KindSMTP: smtpeffect.Open,
		effect.KindSQL:  sqleffect.Open,
		effect.KindJob:  jobeffect.OpenJob(n.Work),
		effect.KindFlow: jobeffect.OpenFlow(n.Flows),
	}
}
