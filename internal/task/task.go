// Package task publishes the messages that pools send to each other and to themselves: immediate tasks, tasks by timer, and requests to end
// runs.
//
//   - A task carries the trace context of its sender. A timer carries none: a task that comes due later begins a trace of its own.
//     Otherwise, one trace of a schedule would never end.
//   - A timer is a delayed message. JetStream stores it on a timer subject, delivers a copy on its target when the time has come, and
//     removes it in the same step. A second message on the same subject replaces the first.
//
// Callers must tolerate this: a timer fires up to 250 ms late while its stream is busy, some seconds late after a leader election of NATS,
// and early if the clocks of machines differ. If the caller crashes before the message is stored, the timer is lost; the guard timers
// handle that, not this package.
//
// The subjects and their contents are defined by subjects and the pools. The package may import schedule, subjects, internal/codec,
// internal/metrics, internal/telemetry and internal/wire. Whatever sends tasks, or arms or removes timers, may import it.
package task

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Publish sends a task, such as a *wire.Wake or *wire.Enqueue, and returns once it is stored.
func Publish(ctx context.Context, to Publisher, subject string, body any) error {
	return PublishAndPurge(ctx, to, subject, "", body)
}

// PublishAndPurge sends a task and removes a timer of the same stream, in one step. If there is no such timer, the task is sent
// nevertheless.
func PublishAndPurge(ctx context.Context, to Publisher, subject, timerSubject string, body any) error {
	data, err := codec.Marshal(body)
	if err != nil {
		return fmt.Errorf("task: %s: %w", subject, err)
	}
	msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: data}
	ctx, span := telemetry.StartPublish(ctx, subject)
	if span.IsRecording() {
		span.SetAttributes(attributes(body)...)
	}
	telemetry.Inject(ctx, msg.Header)
	PurgeHeader(msg.Header, timerSubject)
	err = to.Publish(ctx, msg)
	telemetry.End(span, err)
	if err != nil {
		return fmt.Errorf("task: publish on %s: %w", subject, err)
	}
	return nil
}

// Control asks the worker of a run to end it, on the control subject of the run, and returns once that is stored. Repeating the same
// request has no further effect.
func Control(ctx context.Context, to Publisher, subject string, c schedule.Control) error {
	body, err := json.Marshal(&c)
	if err != nil {
		return fmt.Errorf("task: %s: %w", subject, err)
	}
	return to.Publish(ctx, &nats.Msg{
		Subject: subject, Header: nats.Header{nats.MsgIdHdr: {string(c.Kind) + "-" + c.RequestID}}, Data: body,
	})
}

// attributes describe a task in a trace.
func attributes(body any) []attribute.KeyValue {
	switch body := body.(type) {
	case *wire.Wake:
		return []attribute.KeyValue{telemetry.AttributeWakeReason.String(string(body.Reason))}
	case *wire.Enqueue:
		of := []attribute.KeyValue{
			telemetry.AttributeSource.String(body.Source), telemetry.AttributeStarts.Int(len(body.Starts)),
		}
		if len(body.Starts) > 0 {
			of = append(of, telemetry.AttributeNominalTime.String(body.Starts[0].Nominal.UTC().Format(time.RFC3339Nano)))
		}
		return of
	}
	return nil
}

// ArmAgain arms a guard again if it fired before the thing that it guards existed, and returns once that is stored. The guard says whether
// and when to fire again. now is when the caller looks.
func ArmAgain(ctx context.Context, to Publisher, timerSubject, target string, now time.Time, guard wire.Wake) error {
	after := time.Duration(guard.GuardAgain)
	if after <= 0 {
		return nil
	}
	guard.GuardAgain = 0
	return Arm(ctx, to, timerSubject, target, now.Add(after), &guard)
}

// Arm sends a task on target at the given time; it returns once the timer is stored. It replaces the timer on timerSubject. A time in the
// past means now.
func Arm(ctx context.Context, to Publisher, timerSubject, target string, at time.Time, body any) error {
	data, err := codec.Marshal(body)
	if err != nil {
		return fmt.Errorf("task: %s: %w", target, err)
	}
	return ArmMessage(ctx, to, timerSubject, target, at, nil, data)
}
