package chaos

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if binaryDir != "" {
			_ = os.RemoveAll(binaryDir)
		}
		os.Exit(code)
	}))
}
