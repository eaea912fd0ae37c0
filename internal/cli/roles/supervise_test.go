package roles_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/cli/roles"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// lazy returns a role that takes a while to stop, and notes when it has.
func lazy(name string, takes time.Duration, stopped *[]string) roles.Role {
	return roles.Role{Name: name, Run: func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(takes)
		*stopped = append(*stopped, name)
		return ctx.Err() // as good as nil
	}}
}

func TestSuperviseStopsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stopped []string
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		err := roles.Supervise(ctx, natstest.Logger(t), 5*time.Second,
			roles.Stage{lazy("slow", 2*time.Second, &stopped), lazy("quick", time.Second, &stopped)},
			nil,
			roles.Stage{lazy("last", 0, &stopped)})
		assert.NoError(t, err)
		assert.Equal(t, []string{"quick", "slow", "last"}, stopped)
	})
}

func TestSuperviseEndsWithARole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"failure":             {errors.New("broken"), "bad: broken"},
		"failure with a name": {errors.New("bad: broken"), "bad: broken"},
		"without a reason":    {nil, "bad stopped by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stopped []string
			bad := roles.Role{Name: "bad", Run: func(context.Context) error { return test.err }}
			err := roles.Supervise(t.Context(), natstest.Logger(t), time.Second,
				roles.Stage{lazy("other", 0, &stopped)}, roles.Stage{bad})
			assert.EqualError(t, err, test.want)
			assert.Equal(t, []string{"other"}, stopped, "the others are stopped")
		})
	}
}

func TestSuperviseReportsAFailureWhileStopping(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	bad := roles.Role{Name: "bad", Run: func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("could not give back")
	}}
	err := roles.Supervise(ctx, natstest.Logger(t), time.Second, roles.Stage{bad})
	assert.EqualError(t, err, "bad: could not give back")
}

func TestSuperviseLeavesBehindWhatDoesNotStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stopped []string
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		err := roles.Supervise(ctx, natstest.Logger(t), 5*time.Second,
			roles.Stage{lazy("stuck", time.Hour, &stopped)},
			roles.Stage{lazy("last", 100*time.Millisecond, &stopped)})
		assert.EqualError(t, err, "stuck did not stop in time; others take over what it held")
		assert.Equal(t, []string{"last"}, stopped, "those that follow still get a moment")
		assert.Equal(t, 5100*time.Millisecond, time.Since(begin))
	})
}
