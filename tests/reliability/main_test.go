package reliability

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestMain applies settings for all runs. Each run produces much garbage and keeps little memory, so it pays to collect garbage less often.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // one handler waits for some time after the last error, but each run has its own clock
	os.Exit(m.Run())
}
