package jsmodel_test

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
)

// TestDeletedConsumer: what a deleted consumer has delivered without an acknowledgement comes to its successor, which takes an
// answer to an old delivery for an answer to its own.
func TestDeletedConsumer(t *testing.T) {
	t.Parallel()
	p := newPair(t, t, connect(t), notSoon)
	at := slices.IndexFunc(p.consumers, func(c consumer) bool { return c.stream == p.names.ActionStream() })
	c := p.consumers[at]
	subjects := []string{p.names.Action("default", queue, "a"), p.names.Action("default", queue, "b"), p.names.Action("default", queue, "c")}
	for _, subject := range subjects {
		require.NoError(t, p.publish(&nats.Msg{Subject: subject}))
	}
	p.fetch(c, 2)
	first, second := p.held[0], p.held[1]
	p.held = nil
	p.settle(&first, "+ACK", 0)

	require.NoError(t, p.js.DeleteConsumer(t.Context(), c.stream, c.name))
	p.model.DeleteConsumer(c.stream, c.name)
	now := p.now()
	require.Empty(t, p.model.Deliverable(now, c.stream, c.name))
	require.False(t, p.model.HasConsumer(c.stream, c.name))
	for _, settle := range []func(){
		func() { p.model.Ack(&second.Delivery) }, func() { p.model.Nak(now, &second.Delivery, 0) },
		func() { p.model.Progress(now, &second.Delivery) },
	} {
		settle() // nobody hears it
	}
	p.requireSameStream(c.stream)

	p.consumers = slices.Delete(p.consumers, at, at+1)
	p.addConsumer(c.stream, p.names.WorkerConsumer("default", queue), notSoon)
	c = p.consumers[len(p.consumers)-1]
	require.Equal(t, []uint64{2, 3}, p.model.Deliverable(p.now(), c.stream, c.name))
	p.fetch(c, 2)
	p.settle(&second, "+ACK", 0)
	p.requireSameContents()
	require.Equal(t, []string{subjects[2]}, subjectsOf(p.model.Messages(c.stream, ">")))
}

func subjectsOf(messages []jsmodel.Message) (all []string) {
	for _, m := range messages {
		all = append(all, m.Subject)
	}
	return all
}
