package callers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/subjects"
)

// BenchmarkMay is what a request costs more: with an answer that is known, with one that NATS must be asked for, and with a user who is not
// connected yet.
func BenchmarkMay(b *testing.B) {
	subject := subjects.Default().API("team", subjects.ThingWorkflow, subjects.RightRead)
	for name, pass := range map[string]time.Duration{"known": 0, "asked": 11 * time.Second, "connected": time.Hour} {
		b.Run(name, func(b *testing.B) {
			s := withAccounts(b)
			client := s.client("Bearer reader:r")
			for b.Loop() {
				s.pass(pass)
				if pass == time.Hour {
					s.Sweep()
				}
				may, err := s.May(b.Context(), client, subject)
				require.NoError(b, err)
				require.True(b, may, fmt.Sprint(pass))
			}
		})
	}
}
