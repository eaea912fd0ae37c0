package roles_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// record notes the roles that have stopped, in order.
type record struct {
	mu    sync.Mutex
	names []string
}

func (r *record) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
}

func (r *record) stopped() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.names)
}

// lazy returns a role that takes some time to stop.
func (r *record) lazy(name string, takes time.Duration) roles.Role {
	return roles.Role{Name: name, Run: func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(takes)
		r.add(name)
		return ctx.Err() // counts as nil
	}}
}

func TestSuperviseStopsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r record
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		err := roles.Supervise(ctx, natstest.Logger(t), 5*time.Second,
			roles.Stage{r.lazy("slow", 2*time.Second), r.lazy("quick", time.Second)},
			nil,
			roles.Stage{r.lazy("last", 0)})
		assert.NoError(t, err)
		assert.Equal(t, []string{"quick", "slow", "last"}, r.stopped())
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
			var r record
			bad := roles.Role{Name: "bad", Run: func(context.Context) error { return test.err }}
			err := roles.Supervise(t.Context(), natstest.Logger(t), time.Second,
				roles.Stage{r.lazy("other", 0)}, roles.Stage{bad})
			assert.EqualError(t, err, test.want)
			assert.Equal(t, []string{"other"}, r.stopped(), "the others are stopped")
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
		var r record
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		err := roles.Supervise(ctx, natstest.Logger(t), 5*time.Second,
			roles.Stage{r.lazy("stuck", time.Hour)},
			roles.Stage{r.lazy("last", 100*time.Millisecond)})
		assert.EqualError(t, err, "stuck did not stop in time; others take over what it held")
		assert.Equal(t, []string{"last"}, r.stopped(), "those that follow still get a moment")
		assert.Equal(t, 5100*time.Millisecond, time.Since(begin))
		time.Sleep(2 * time.Hour) // a synctest bubble ends only when all of its goroutines have ended
	})
}
