# docker build --tag headrace .
#
# EXTRAS   what is installed: connectors (postgresql, mongodb, oracle), the sinks kafka and tables,
#          the converter avro, and java. Db2's driver needs the system's libxml2 besides.
# COMPILE  the kernels that are compiled ahead, as `headrace compile` takes them; by default those of
#          every connector that is installed.
# CPU      the processor that they are compiled for, which each machine that runs the image must have
#          the instructions of: x86-64-v3 has AVX2 (servers since about 2015); `generic` for ARM.
FROM python:3.12-slim AS build
ARG EXTRAS=postgresql,mongodb,oracle,kafka,tables,avro,java
RUN python -m venv /opt/headrace
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN /opt/headrace/bin/pip install --no-cache-dir --constraint constraints.txt ".[$EXTRAS]"

FROM python:3.12-slim
ARG COMPILE=
ARG CPU=x86-64-v3
ENV PATH=/opt/headrace/bin:$PATH
ENV HEADRACE_CACHE_DIR=/var/cache/headrace
ENV NUMBA_CPU_NAME=$CPU
ENV NUMBA_CPU_FEATURES=
RUN useradd --uid 10001 --create-home headrace \
    && install --directory --owner headrace --group headrace --mode 700 /var/cache/headrace \
    && install --directory --owner headrace --group headrace /state
COPY --from=build /opt/headrace /opt/headrace
USER 10001:10001
RUN headrace compile $COMPILE
# Metrics, /healthz and /readyz, where `--metrics-port 9404 --metrics-address 0.0.0.0` asks for them.
EXPOSE 9404
ENTRYPOINT ["headrace"]
CMD ["--help"]
