package main

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/httpeffect"
	"github.com/ramet-run/ramet/effect/jobeffect"
	"github.com/ramet-run/ramet/effect/smtpeffect"
	"github.com/ramet-run/ramet/effect/sqleffect"
	"github.com/ramet-run/ramet/node"
)

// effectKinds lists every kind of effect.
func effectKinds(n *node.Node) map[domain.EffectKind]effect.Open {
	return map[domain.EffectKind]effect.Open{
		domain.EffectHTTP: httpeffect.Open,
		domain.EffectGRPC: openGRPC,
		domain.EffectSMTP: smtpeffect.Open,
		domain.EffectSQL:  sqleffect.Open,
		domain.EffectJob:  jobeffect.OpenJob(n.Work),
		domain.EffectFlow: jobeffect.OpenFlow(n.Flows),
	}
}
