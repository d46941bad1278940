package reliability

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestMain sets what all runs share. Each run produces much garbage and keeps little, so it pays to collect garbage less often.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // one handler waits until some time after the last error of any run, but each run has its own time
	os.Exit(m.Run())
}
