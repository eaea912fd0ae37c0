package gateway

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// maxText is how many bytes an ID or a name may have, and what a sender calls itself.
	maxText = 1000
	// maxLinks is how many links a request may have, and maxLink the bytes of one.
	maxLinks = 10
	maxLink  = 4000
)

// The errors of requests that are too large, in the words by which Temporal's SDKs know them.
var (
	errBlobTooLarge = serviceerror.NewInvalidArgument("Blob data size exceeds limit.")
	errMemoTooLarge = serviceerror.NewInvalidArgument("Memo size exceeds limit.")
)

// checkName refuses a text that is missing or too long.
func checkName(what, text string) error {
	if text == "" {
		return serviceerror.NewInvalidArgumentf("%s is not set on request.", what)
	}
	return checkLength(what, text)
}

// checkLength refuses a text that is too long.
func checkLength(what, text string) error {
	if len(text) > maxText {
		return serviceerror.NewInvalidArgumentf("%s length exceeds limit.", what)
	}
	return nil
}

// checkCommon refuses what no request can have, whatever it asks for.
func checkCommon(request any) error {
	if r, ok := request.(interface{ GetIdentity() string }); ok {
		if err := checkLength("Identity", r.GetIdentity()); err != nil {
			return err
		}
	}
	if r, ok := request.(interface{ GetLinks() []*common.Link }); ok {
		return checkLinks(r.GetLinks())
	}
	return nil
}

// checkLinks refuses links that are too many or too large.
func checkLinks(links []*common.Link) error {
	if len(links) > maxLinks {
		return serviceerror.NewInvalidArgumentf("Links has %d links: at most %d are possible.", len(links), maxLinks)
	}
	for _, link := range links {
		if size := proto.Size(link); size > maxLink {
			return serviceerror.NewInvalidArgumentf("Links has a link of %d bytes: at most %d are possible.", size, maxLink)
		}
	}
	return nil
}

// checkRunID refuses a run ID that is none. It may be missing.
func checkRunID(id string) error {
	if id == "" {
		return nil
	}
	if _, err := uuid.Parse(id); err != nil {
		return serviceerror.NewInvalidArgument("Invalid RunId.")
	}
	return nil
}

// checkExecution refuses what names no execution. The run ID may be missing.
func checkExecution(e *common.WorkflowExecution) error {
	if e == nil {
		return serviceerror.NewInvalidArgument("Execution is not set on request.")
	}
	if err := checkName("WorkflowId", e.WorkflowId); err != nil {
		return err
	}
	return checkRunID(e.RunId)
}

// checkQueue refuses what names no task queue.
func checkQueue(queue *taskqueue.TaskQueue) error { return checkName("TaskQueue", queue.GetName()) }

// isTooLarge reports whether payloads, or a message with payloads, are larger than one field may be.
func isTooLarge(blob proto.Message) bool { return proto.Size(blob) > maxBlob }

// checkBlobs refuses payloads that are too large.
func checkBlobs(blobs ...proto.Message) error {
	for _, blob := range blobs {
		if isTooLarge(blob) {
			return errBlobTooLarge
		}
	}
	return nil
}

// checkMemo refuses a memo that is too large.
func checkMemo(memo *common.Memo) error {
	if proto.Size(memo) > maxMemo {
		return errMemoTooLarge
	}
	return nil
}

// checkPolicies refuses policies for a workflow ID that contradict each other.
func checkPolicies(reuse enums.WorkflowIdReusePolicy, conflict enums.WorkflowIdConflictPolicy) error {
	if reuse == enums.WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING && conflict != enums.WORKFLOW_ID_CONFLICT_POLICY_UNSPECIFIED {
		return serviceerror.NewInvalidArgument("WorkflowIdReusePolicy TerminateIfRunning and a WorkflowIdConflictPolicy exclude each other.")
	}
	return nil
}
