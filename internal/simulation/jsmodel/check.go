package jsmodel

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The headers of delayed messages. They are not taken from internal/task: the model must not follow the product.
const (
	headerSchedule  = "Nats-Schedule"
	headerTarget    = "Nats-Schedule-Target"
	headerScheduler = "Nats-Scheduler"
	headerNext      = "Nats-Schedule-Next"
	nextPurge       = "purge"
)

// check does what the server checks before it looks whether a message is a repeat, in the same order. If there are two reasons
// for a refusal, the client learns the first one; and a repeat with a wrong expected sequence is refused, not recognized.
func (st *stream) check(msg *nats.Msg) error {
	if ttl, err := ttlOf(msg.Header); err == nil && ttl != 0 && !st.config.AllowMsgTTL {
		return refusal(codeTTLDisabled, "per-message TTL is disabled")
	}
	if err := st.checkExpected(msg); err != nil {
		return err
	}
	if err := st.checkSchedule(msg); err != nil {
		return err
	}
	return st.checkScheduler(msg)
}

func (st *stream) checkExpected(msg *nats.Msg) error {
	text := msg.Header.Get(nats.ExpectedLastSubjSeqHdr)
	if text == "" {
		return nil
	}
	want, _ := strconv.ParseUint(text, 10, 64)
	var have uint64
	if last := st.last(msg.Subject); last != nil {
		have = last.Sequence
	}
	if want != have {
		return wrongLastSequence(have)
	}
	return nil
}

// checkSchedule refuses a delayed message that the stream could not deliver.
func (st *stream) checkSchedule(msg *nats.Msg) error {
	at, err := delay(msg.Header)
	switch {
	case err == nil && at.IsZero():
		return nil
	case !st.config.AllowMsgSchedules:
		return refusal(codeSchedulesDisabled, "message schedules is disabled")
	case err != nil:
		return refusal(codeScheduleInvalid, "message schedules pattern is invalid")
	}
	target := msg.Header.Get(headerTarget)
	if target == msg.Subject || !isSubject(target) || !st.takes(target) {
		return refusal(codeTargetInvalid, "message schedules target is invalid")
	}
	if rollup := rollupOf(msg.Header); rollup != "" && rollup != jetstream.MsgRollupSubject {
		return refusal(codeScheduleRollup, "message schedules invalid rollup")
	}
	return nil
}

// checkScheduler refuses to remove a message as a timer if it is none. A timer that is absent is fine.
func (st *stream) checkScheduler(msg *nats.Msg) error {
	invalid := refusal(codeSchedulerInvalid, "message schedules invalid scheduler")
	scheduler := msg.Header.Get(headerScheduler)
	switch next := msg.Header.Get(headerNext); {
	case next == "" && scheduler == "":
		return nil
	case next != nextPurge, scheduler == msg.Subject, !isSubject(scheduler):
		return invalid
	case !st.config.AllowMsgSchedules:
		return refusal(codeSchedulesDisabled, "message schedules is disabled")
	}
	if timer := st.last(scheduler); timer != nil && timer.Header.Get(headerSchedule) == "" {
		return invalid
	}
	return nil
}

// checkRest is what the server checks of a message that is no repeat.
func (st *stream) checkRest(msg *nats.Msg) error {
	if rollup := rollupOf(msg.Header); rollup != "" {
		switch {
		case !st.config.AllowRollup:
			return refusal(codeRollupFailed, "rollup not permitted")
		case rollup != jetstream.MsgRollupSubject:
			return refusal(codeRollupFailed, "rollup value invalid: "+strconv.Quote(rollup))
		}
	}
	if _, err := ttlOf(msg.Header); err != nil {
		return refusal(codeTTLInvalid, "invalid per-message TTL")
	}
	return nil
}

// rollupOf returns which part of the stream a message replaces. The server also supports the whole stream, which is not
// modelled.
func rollupOf(header nats.Header) string { return strings.ToLower(header.Get(jetstream.MsgRollup)) }

var errNoTime = errors.New("jsmodel: not a time to deliver at")

// delay returns when a message is to be delivered; zero for one that is not delayed. The server also supports messages that
// repeat, which Carillon does not use; here they are an error.
func delay(header nats.Header) (time.Time, error) {
	text := header.Get(headerSchedule)
	if text == "" {
		return time.Time{}, nil
	}
	text, ok := strings.CutPrefix(text, "@at ")
	if !ok {
		return time.Time{}, errNoTime
	}
	return time.Parse(time.RFC3339, text)
}

var errTTL = errors.New("jsmodel: not a TTL")

// never is the TTL of a message that outlives even the greatest age of its stream.
const never = -1

// ttlOf returns how long a message lives, in whole seconds; 0 if its header does not say.
func ttlOf(header nats.Header) (time.Duration, error) {
	text := header.Get(jetstream.MsgTTLHeader)
	switch strings.ToLower(text) {
	case "":
		return 0, nil
	case "never":
		return never, nil
	}
	if ttl, err := time.ParseDuration(text); err == nil {
		if ttl < time.Second {
			return 0, errTTL
		}
		return ttl.Truncate(time.Second), nil
	}
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errTTL
	}
	return time.Duration(seconds) * time.Second, nil
}

// isSubject reports whether a message can be published on a subject.
func isSubject(subject string) bool {
	return !strings.ContainsAny(subject, " \t\r\n\f") &&
		!slices.ContainsFunc(strings.Split(subject, "."), func(token string) bool {
			return token == "" || token == "*" || token == ">"
		})
}
