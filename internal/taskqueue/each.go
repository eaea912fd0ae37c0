package taskqueue

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// Each visits the runs on a subject, which may have wildcards, in order of their sequences, from one sequence to another, both
// inclusive; to 0 means to the end. It returns the first error, of visit or of NATS.
func Each(
	ctx context.Context, js jetstream.JetStream, names subjects.Names, subject string, from, to uint64,
	visit func(*WaitingRun) error,
) error {
	for {
		run, _, err := firstRun(ctx, js, names, subject, max(from, 1))
		if err != nil || run == nil || to > 0 && run.Sequence > to {
			return err
		}
		if err := visit(run); err != nil {
			return err
		}
		from = run.Sequence + 1
	}
}
