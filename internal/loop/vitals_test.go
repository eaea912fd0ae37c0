package loop

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestVitals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	config := b.config()
	var ahead atomic.Int64 // of the clock
	config.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	config.Vitals = &Vitals{}
	assert.Equal(t, "its message loop to begin", config.Vitals.Waits())
	assert.Empty(t, config.Vitals.Stuck())

	began, release := make(chan struct{}, 1), make(chan struct{})
	stop := b.run(config, func(context.Context, schedule.Key, []Message[string]) Verdict {
		began <- struct{}{}
		<-release
		return Done()
	})
	natstest.Eventually(t, patience, "the shard is pulled", func() bool { return config.Vitals.Waits() == "" })
	b.publish("slow", "0")
	<-began
	assert.Empty(t, config.Vitals.Stuck())
	ahead.Store(int64(stuckAfter))
	assert.Regexp(t, `^it has worked on schedule slow of namespace \S+ for 10m`, config.Vitals.Stuck())
	close(release)
	natstest.Eventually(t, patience, "the handler has returned", func() bool { return config.Vitals.Stuck() == "" })
	stop()
	assert.Equal(t, "the messages of 1 of 1 consumers", config.Vitals.Waits())
}
