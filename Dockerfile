# psgraph as a command:  docker build -t psgraph .
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" psgraph \
#     publish edges.parquet --roster nodes.csv --epsilon 1 --window 5 --out releases
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /usr/local/lib/psgraph \
    && /usr/local/lib/psgraph/bin/python -m pip install --no-cache-dir -c constraints.txt '.[report,service,watch]'

FROM python:3.12-slim
# Compiled kernels go where any user id can write; the data are in /data.
RUN useradd --create-home --uid 10001 psgraph \
    && mkdir -m 1777 /var/cache/psgraph \
    && install -d -o psgraph -g psgraph -m 0700 /data
COPY --from=build /usr/local/lib/psgraph /usr/local/lib/psgraph
ENV PATH=/usr/local/lib/psgraph/bin:$PATH \
    NUMBA_CACHE_DIR=/var/cache/psgraph \
    MPLCONFIGDIR=/var/cache/psgraph
USER psgraph
WORKDIR /data
ENTRYPOINT ["psgraph"]
CMD ["--help"]
