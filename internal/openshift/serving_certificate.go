package openshift

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/cert"

	"github.com/echo-operator/echo-operator/internal/certificates"
)

// ServingCertificate is an endpoint's certificate. It is read from tls.crt and tls.key in a directory, and is self-signed until these files
// exist. The files can appear after the operator starts: OpenShift creates the Secret that a Service names in its
// service.beta.openshift.io/serving-cert-secret-name annotation. The kubelet then adds the files to the running pod. After a rotation, new
// connections use the new certificate.
type ServingCertificate struct {
	folder string
	log    logr.Logger

	lock    sync.Mutex
	current *tls.Certificate
	problem string // why the files could not be used last time
}

// NewServingCertificate returns the certificate in a directory. The directory does not need to exist. If the directory name is empty, the
// certificate is self-signed.
func NewServingCertificate(folder string, log logr.Logger) *ServingCertificate {
	return &ServingCertificate{folder: folder, log: log}
}

// Get is the callback for tls.Config.GetCertificate. If the files cannot be used, it returns the previous certificate.
func (s *ServingCertificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.folder != "" {
		s.load()
	}
	if s.current != nil {
		return s.current, nil
	}
	made, err := selfSigned()
	s.current = made
	return made, err
}

// load reads the files. A problem is logged only if it differs from the last problem.
func (s *ServingCertificate) load() {
	loaded, err := readPair(s.folder)
	switch {
	case err == nil:
		s.current, s.problem = &loaded, ""
	case !errors.Is(err, fs.ErrNotExist) && err.Error() != s.problem:
		s.problem = err.Error()
		s.log.Info("The certificate cannot be used. The endpoint continues to use the previous certificate.",
			"folder", s.folder, "cause", s.problem)
	}
}

func readPair(folder string) (tls.Certificate, error) {
	certificate, err := os.ReadFile(filepath.Join(folder, "tls.crt"))
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := os.ReadFile(filepath.Join(folder, "tls.key"))
	if err != nil {
		return tls.Certificate{}, err
	}
	return certificates.Pair(certificate, key)
}

func selfSigned() (*tls.Certificate, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	return &pair, err
}
