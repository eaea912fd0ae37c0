package worker

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// parseRequest reads a start request. An error means that no worker can ever run it or report about it.
func parseRequest(names subjects.Names, subject string, data []byte) (schedule.ActionRequest, error) {
	var req schedule.ActionRequest
	if err := json.Unmarshal(data, &req); err != nil {
		return req, fmt.Errorf("not a start request: %w", err)
	}
	for _, field := range []struct{ name, value string }{
		{"namespace", req.Namespace}, {"taskQueue", req.TaskQueue}, {"workflowId", req.WorkflowID},
		{"runId", req.RunID}, {"requestId", req.RequestID}, {"type", req.Type}, {"callback", req.Callback},
	} {
		if field.value == "" {
			return req, fmt.Errorf("not a start request: %s is missing", field.name)
		}
	}
	return req, checkSubjects(names, subject, &req)
}

// checkSubjects refuses a request that does not fit its subject or whose callback is not of its task queue. The worker's messages about it
// might never be stored, and the worker would try forever.
func checkSubjects(names subjects.Names, subject string, req *schedule.ActionRequest) error {
	if want := names.Action(req.Namespace, req.TaskQueue, req.WorkflowID); subject != want {
		return fmt.Errorf("bad start request: namespace, taskQueue and workflowId belong to subject %q", want)
	}
	task, err := names.ParseTask(req.Callback)
	if err != nil || task.Role != subjects.RoleCallback {
		return fmt.Errorf("bad start request: callback %q is not a callback subject", req.Callback)
	}
	if task.Key.Namespace != req.Namespace || task.Queue != req.TaskQueue {
		return fmt.Errorf("bad start request: callback %q is of another task queue", req.Callback)
	}
	return nil
}

// parseControl reads a cancel or terminate.
func parseControl(data []byte) (schedule.Control, error) {
	var control schedule.Control
	if err := json.Unmarshal(data, &control); err != nil {
		return control, err
	}
	if control.RunID == "" || causeOf(control.Kind) == nil {
		return control, errors.New("runId is missing or kind is unknown")
	}
	return control, nil
}

// causeOf returns the cause with which a control ends a handler's context; nil for an unknown kind.
func causeOf(kind schedule.ControlKind) error {
	switch kind {
	case schedule.ControlCancel:
		return ErrCanceled
	case schedule.ControlTerminate:
		return ErrTerminated
	}
	return nil
}
