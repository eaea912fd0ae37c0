package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Handle registers a function that takes the input as a value of its own type, and returns the result likewise:
// w.Register(actionType, [HandlerOf](handle)). It panics as Register does.
func Handle[I, O any](w *Worker, actionType string, handle func(ctx context.Context, input I) (O, error)) {
	w.Register(actionType, HandlerOf(handle))
}

// HandlerOf makes a handler of a function that takes the input as a value of its own type, and returns the result
// likewise. What else there is to know about the run says [FromContext].
//
// Input and result are JSON, read and written by encoding/json. An input that does not fit ends the run as failed, of type
// TypeInvalidInput, and is not retried; fields that I does not have are ignored. Of a run without an input the function
// gets the zero I. Three types are special:
//
//   - struct{} stands for none: the input is not looked at, and there is no result;
//   - [json.RawMessage] and []byte are the JSON text itself, unread and unchanged. An empty result is none.
func HandlerOf[I, O any](handle func(ctx context.Context, input I) (O, error)) Handler {
	return func(ctx context.Context, run *Run) (any, error) {
		var input I
		if err := decodeInput(run, &input); err != nil {
			return nil, err
		}
		output, err := handle(ctx, input)
		return plain(output), err
	}
}

func decodeInput(run *Run, into any) error {
	switch into := into.(type) {
	case *struct{}:
		return nil
	case *json.RawMessage:
		*into = run.Input
		return nil
	case *[]byte:
		*into = run.Input
		return nil
	}
	return run.Decode(into)
}

// plain returns what encodeResult makes the right JSON of.
func plain(output any) any {
	switch output := output.(type) {
	case struct{}:
		return nil
	case json.RawMessage:
		return textOrNone(output)
	case []byte:
		return textOrNone(output)
	}
	return output
}

func textOrNone(text json.RawMessage) any {
	if len(text) == 0 {
		return nil
	}
	return text
}

// LastResult returns the result of the schedule's last success, for the handler that ctx belongs to: a cursor, say, from
// which the next run goes on. It reports false if there is none. An error says that it does not fit T, or was left out since
// the request would have been larger with it than a NATS message may be; to begin anew may then be wrong.
func LastResult[T any](ctx context.Context) (result T, ok bool, err error) {
	run, ok := FromContext(ctx)
	switch {
	case !ok:
		return result, false, nil
	case run.LastSuccessOmitted:
		return result, false, errors.New("the last result was left out of the request, which would have been too large with it")
	}
	return decodeOptional[T]("last result", run.LastSuccess)
}

// LastHeartbeat returns the details of the newest heartbeat that an earlier attempt of the run has recorded, for the
// handler that ctx belongs to, so that it can go on from there. It reports false if none is known. See [Heartbeat].
func LastHeartbeat[T any](ctx context.Context) (details T, ok bool, err error) {
	run, ok := FromContext(ctx)
	if !ok {
		return details, false, nil
	}
	return decodeOptional[T]("last heartbeat", run.LastHeartbeat)
}

func decodeOptional[T any](what string, text json.RawMessage) (value T, ok bool, err error) {
	if len(text) == 0 {
		return value, false, nil
	}
	if err := json.Unmarshal(text, &value); err != nil {
		var none T
		return none, false, fmt.Errorf("the %s does not fit: %s", what, misfit(err))
	}
	return value, true, nil
}

// misfit says in the words of JSON why a text could not be read.
func misfit(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	text := "must be " + expected(wrong.Type) + ", not " + found(wrong.Value)
	if wrong.Field == "" {
		return "it " + text
	}
	return wrong.Field + " " + text
}

// expected says what a value of a type is written as.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Interface, reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return "something else"
	}
	return "a whole number" + rangeOf(t)
}

// rangeOf says which numbers a type of integers holds, where that is not obvious.
func rangeOf(t reflect.Type) string {
	unsigned := t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr
	switch {
	case unsigned && t.Bits() == 64:
		return ", 0 or more"
	case unsigned:
		return fmt.Sprintf(", 0 to %d", uint64(1)<<t.Bits()-1)
	case t.Bits() == 64:
		return ""
	}
	return fmt.Sprintf(", %d to %d", -int64(1)<<(t.Bits()-1), int64(1)<<(t.Bits()-1)-1)
}

// found puts what encoding/json says of a value into words.
func found(value string) string {
	switch kind, rest, _ := strings.Cut(value, " "); {
	case rest != "":
		return rest // a number
	case kind == "bool":
		return "true or false"
	case kind == "object", kind == "array":
		return "an " + kind
	default:
		return "a " + kind
	}
}
