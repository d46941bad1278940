package reliability

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestMain applies settings for all runs. Runs produce a lot of garbage but use little memory, so less frequent garbage collection saves
// time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // one handler delays errors that closely follow another error, but each run has its own clock
	os.Exit(m.Run())
}
