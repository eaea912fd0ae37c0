package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestExitCodes pins the codes down: scripts depend on them.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	options := connectOptions{}
	for want, errs := range map[int][]error{
		0: {nil},
		1: {errors.New("anything"), schedule.Errorf(schedule.CodeInternal, "x"), errAudit, errApply, errStopped},
		2: {usagef("--x"), schedule.Invalid("id", "x")},
		3: {schedule.Errorf(schedule.CodeNotFound, "x"), fmt.Errorf("x: %w", schedule.Errorf(schedule.CodeNotFound, "x"))},
		4: {schedule.Errorf(schedule.CodeAlreadyExists, "x"), schedule.Errorf(schedule.CodeFailedPrecondition, "x")},
		5: {schedule.Errorf(schedule.CodeUnavailable, "x"), options.explain(nats.ErrNoServers)},
		6: {schedule.Errorf(schedule.CodePermissionDenied, "x"), options.explain(nats.ErrAuthorization)},
		7: {schedule.Errorf(schedule.CodeResourceExhausted, "x")},
	} {
		for _, err := range errs {
			if err != nil {
				err = &runError{err}
			}
			assert.Equal(t, want, exitCode(err), "%v", err)
		}
	}
	assert.Equal(t, ExitUsage, exitCode(errors.New("found before the command ran")))
}

func TestExitCodesHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help", "exit-codes"}, {"exit-codes"}, {"exit-codes", "--help"}} {
		var p process
		assert.Equal(t, ExitOK, p.run(t.Context(), args...))
		golden.Equal(t, "help/exit-codes.txt", p.stdout.String())
	}
}
