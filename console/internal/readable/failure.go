package readable

import (
	"fmt"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/failure/v1"
)

// maxCauses is how many failures of a chain are shown: a failure may have thousands of causes.
const maxCauses = 20

// Failure returns all that a failure says, on several lines: what failed and why, details, stack traces, and the causes.
func Failure(f *failure.Failure) string {
	var text strings.Builder
	for n := 0; f != nil; f, n = f.GetCause(), n+1 {
		if n == maxCauses {
			text.WriteString("There are more causes.\n")
			break
		}
		if n > 0 {
			text.WriteString("caused by: ")
		}
		one(&text, f)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// one writes a failure without its causes.
func one(text *strings.Builder, f *failure.Failure) {
	if kind := kindOf(f); kind != "" {
		text.WriteString(kind + ": ")
	}
	text.WriteString(f.GetMessage() + "\n")
	if details := Payloads(detailsOf(f)); details != "" {
		fmt.Fprintf(text, "details: %s\n", details)
	}
	if stack := strings.TrimSpace(f.GetStackTrace()); stack != "" {
		text.WriteString(stack + "\n")
	}
}

// kindOf names what has failed, and the type of the error.
func kindOf(f *failure.Failure) string {
	switch {
	case f.GetApplicationFailureInfo() != nil:
		return f.GetApplicationFailureInfo().GetType()
	case f.GetTimeoutFailureInfo() != nil:
		return "timeout " + f.GetTimeoutFailureInfo().GetTimeoutType().String()
	case f.GetActivityFailureInfo() != nil:
		return "activity " + f.GetActivityFailureInfo().GetActivityType().GetName()
	case f.GetChildWorkflowExecutionFailureInfo() != nil:
		return "child workflow " + f.GetChildWorkflowExecutionFailureInfo().GetWorkflowType().GetName()
	case f.GetCanceledFailureInfo() != nil:
		return "canceled"
	case f.GetTerminatedFailureInfo() != nil:
		return "terminated"
	}
	return ""
}

func detailsOf(f *failure.Failure) *common.Payloads {
	switch {
	case f.GetApplicationFailureInfo() != nil:
		return f.GetApplicationFailureInfo().GetDetails()
	case f.GetCanceledFailureInfo() != nil:
		return f.GetCanceledFailureInfo().GetDetails()
	case f.GetTimeoutFailureInfo() != nil:
		return f.GetTimeoutFailureInfo().GetLastHeartbeatDetails()
	}
	return nil
}

// Cause returns why something failed, in one line: the message of the last cause, which is what the code said.
func Cause(f *failure.Failure) string {
	for n := 0; f.GetCause() != nil && n < maxCauses; n++ {
		f = f.GetCause()
	}
	kind, message := kindOf(f), strings.ReplaceAll(f.GetMessage(), "\n", " ")
	switch {
	case message == "":
		return kind
	case kind == "" || strings.Contains(message, kind):
		return message
	}
	return message + " (" + kind + ")"
}
