package frontend_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConsumersForWorkers: whatever a worker asks for, it gets the consumer of the queue in the subject, with JetStream's answer.
func TestConsumersForWorkers(t *testing.T) {
	t.Parallel()
	in := installed(t)
	subject := in.names.WorkerConsumerRequest("default", "a.b")
	for _, body := range []string{``, `{"config":{"deliver_subject":"x","filter_subject":">"}}`, `{{`} {
		answer, err := in.conn.Request(subject, []byte(body), patience)
		require.NoError(t, err)
		var made struct {
			Type  string `json:"type"`
			Error any    `json:"error"`
			jetstream.ConsumerInfo
		}
		require.NoError(t, json.Unmarshal(answer.Data, &made))
		assert.Equal(t, "io.nats.jetstream.api.v1.consumer_create_response", made.Type)
		assert.Nil(t, made.Error)
		assert.Equal(t, in.names.ActionStream(), made.Stream)
		assert.Equal(t, in.names.ActionQueue("default", "a.b"), made.Config.FilterSubject)
		assert.Empty(t, made.Config.DeliverSubject)
	}

	// A consumer that an operator has tuned stays as it is.
	tuned := in.names.WorkerConsumer("default", "tuned")
	tuned.AckWait = time.Minute
	_, err := in.js.CreateConsumer(t.Context(), in.names.ActionStream(), tuned)
	require.NoError(t, err)
	answer, err := in.conn.Request(in.names.WorkerConsumerRequest("default", "tuned"), nil, patience)
	require.NoError(t, err)
	var found jetstream.ConsumerInfo
	require.NoError(t, json.Unmarshal(answer.Data, &found))
	assert.Equal(t, time.Minute, found.Config.AckWait)

	// A subject without a queue is refused in JetStream's words.
	for _, tokens := range []string{"Default.q", "default.=zz", "default.*", "default." + strings.Repeat("q", 256)} {
		answer, err = in.conn.Request(in.names.Prefix()+".consumer."+tokens, nil, patience)
		require.NoError(t, err)
		var refused struct{ Error *jetstream.APIError }
		require.NoError(t, json.Unmarshal(answer.Data, &refused))
		require.NotNil(t, refused.Error, tokens)
		assert.Equal(t, jetstream.JSErrCodeBadRequest, refused.Error.ErrorCode)
	}
}

// TestAcksOfWorkers: through a frontend a worker acknowledges only the messages of its own queue. JetStream itself would accept
// an acknowledgement of any message in the stream, and remove that message.
func TestAcksOfWorkers(t *testing.T) {
	t.Parallel()
	in := installed(t)
	ctx := t.Context()
	sequences := map[string]uint64{}
	for _, queue := range []string{"gone", "theirs", "mine-too", "mine"} {
		ack, err := in.js.Publish(ctx, in.names.Action("default", queue, "w"), []byte(queue))
		require.NoError(t, err)
		sequences[queue] = ack.Sequence
	}
	_, err := in.js.Publish(ctx, in.names.Action("default", "mine", "w2"), []byte("mine"))
	require.NoError(t, err)
	consumer, err := in.js.CreateConsumer(ctx, in.names.ActionStream(), in.names.WorkerConsumer("default", "mine"))
	require.NoError(t, err)
	batch, err := consumer.Fetch(2)
	require.NoError(t, err)
	var taken []jetstream.Msg
	for msg := range batch.Messages() {
		taken = append(taken, msg)
	}
	require.Len(t, taken, 2)
	stream, err := in.js.Stream(ctx, in.names.ActionStream())
	require.NoError(t, err)
	left := func() uint64 {
		info, err := stream.Info(ctx)
		require.NoError(t, err)
		return info.State.Msgs
	}

	// This shows why the frontend is needed: JetStream itself removes the message of another queue.
	_, err = in.conn.Request(fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.1.0", in.names.ActionStream(), consumer.CachedInfo().Name, sequences["gone"]), nil, patience)
	require.NoError(t, err)
	_, err = stream.GetMsg(ctx, sequences["gone"])
	require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
	before := left()

	to := func(queue string, place string) string {
		return in.names.Prefix() + ".ack.default." + queue + "." + place
	}
	for _, foreign := range []string{
		fmt.Sprintf("1.%d.1.1.0", sequences["theirs"]), fmt.Sprintf("1.%d.1.1.0", sequences["mine-too"]), "1.0.1.1.0",
	} {
		for _, body := range []string{"", "+ACK", "+OK", "+TERM", "+TERM because", "+NXT", "?"} {
			_, err = in.conn.Request(to("mine", foreign), []byte(body), 100*time.Millisecond)
			require.ErrorIs(t, err, nats.ErrTimeout, "%s %s", foreign, body)
		}
	}
	for _, none := range []string{"1.1.1.1", "1.x.1.1.0", "1.-1.1.1.0", "1.1.1.1.0.0"} {
		require.NoError(t, in.conn.Publish(to("mine", none), nil))
	}
	require.Equal(t, before, left(), "nothing is removed")

	place := func(msg jetstream.Msg) string { return strings.Join(strings.Split(msg.Reply(), ".")[4:], ".") }
	_, err = in.conn.Request(to("mine", place(taken[0])), []byte("+WPI"), patience)
	require.NoError(t, err)
	require.Equal(t, before, left())
	require.NoError(t, in.conn.Publish(to("mine", place(taken[1])), []byte("-NAK")))
	again, err := consumer.Next(jetstream.FetchMaxWait(patience))
	require.NoError(t, err, "it comes again at once")
	require.Equal(t, taken[1].Subject(), again.Subject())
	for i, msg := range []jetstream.Msg{taken[0], again} {
		_, err = in.conn.Request(to("mine", place(msg)), []byte("+ACK"), patience)
		require.NoError(t, err)
		require.Equal(t, before-uint64(i)-1, left())
		_, err = in.conn.Request(to("mine", place(msg)), []byte("+ACK"), patience)
		require.NoError(t, err, "a repeat is answered as well")
	}
}
