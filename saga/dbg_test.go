package saga_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

func (s *sim) debug() {
	n := 0
	s.each(func(in domain.TenantID, x *domain.SagaInstance) {
		for _, st := range x.Steps {
			if st.State != domain.StepAsked || n > 3 {
				continue
			}
			n++
			recs, _ := s.board.Get(context.Background(), layout.SpaceOf(in), layout.SagaKeys{Tenant: x.Tenant}.Done(st.CommandID))
			s.t.Logf("DEBUG %d %s %+v mark %v", in, x.Correlation, st, recs)
			for _, name := range stream.Names {
				list, _ := s.log.Scan(context.Background(), name, nil, 1, 1000)
				for _, m := range list {
					if strings.Contains(m.Subject, st.CommandID) {
						s.t.Log("DEBUG ", fmt.Sprintf("%s %d %s %s", m.Stream, m.Seq, m.Subject, m.Data))
					}
				}
			}
		}
	})
}
